// Which claims have a place: whether their namespace may have any, and whether there are too many in it (contract 28.4, 28.8).
import type { Claim } from '../../domain/claim/claim.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { PlaceSettings } from './deps.ts'
import type { ClaimFault } from './facts.ts'
import { BY_NAMESPACE } from './stores.ts'

/** Why a claim has no place; null = it has. */
export function placeFaultOf(
  { namespace, uid }: Claim,
  claims: Pick<Store<Claim>, 'by'>,
  settings: PlaceSettings,
): ClaimFault | null {
  if (isRefusedNamespace(namespace, settings))
    return {
      reason: 'NamespaceRefused',
      message: `Nothing is delivered into namespace ${namespace}, which belongs to the platform or to Kubernetes: make the claim in a namespace of your own.`,
    }
  const most = settings.maxClaimsPerNamespace
  if (claimsThatCount(namespace, claims, settings).some((one) => one.uid === uid)) return null
  return {
    reason: 'TooManyClaims',
    message: `Namespace ${namespace} has more than ${most} claims, and this one is not among the oldest ${most}: delete claims, or have --max-claims-per-namespace of the delivery process raised.`,
  }
}

/** The claims of a namespace that count, the oldest: the others cost nothing, however many there are. */
export const claimsThatCount = (
  namespace: string,
  claims: Pick<Store<Claim>, 'by'>,
  { maxClaimsPerNamespace }: PlaceSettings,
): readonly Claim[] => claims.by(BY_NAMESPACE, namespace, maxClaimsPerNamespace)

/**
 * Whether the namespace belongs to Kubernetes or to the platform, whose namespaces all begin with the name of the platform
 * namespace: nothing is delivered there.
 */
export const isRefusedNamespace = (namespace: string, settings: PlaceSettings): boolean =>
  namespace === settings.namespace ||
  namespace === settings.signInNamespace ||
  namespace.startsWith(`${settings.namespace}-`) ||
  namespace.startsWith('kube-')
