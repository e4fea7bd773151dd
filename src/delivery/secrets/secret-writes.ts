// Reads and writes of the Secrets of claims. Each write is conditional on the Secret that was read, and none touches a Secret
// that another has made (contract 28.4).
import { hash } from 'node:crypto'
import { ACCESS_KEY_CLAIMS, SECRETS } from '../../api/names.ts'
import type { ManagedFieldsEntry, Secret } from '../../api/objects.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import {
  type SecretState,
  type SecretView,
  UNKNOWN_SECRET,
  asApplied,
  ownedData,
  secretViewOf,
} from '../../domain/claim/secret-view.ts'
import type { AppliedObject, KubeClient, NamedObject } from '../../kube/client/client.ts'
import { dryRunApply, dryRunCreate } from '../../kube/client/dry-run.ts'
import type { ClientDeps } from '../../kube/client/request.ts'

/** Why Secrets are written, for metrics. */
export const SECRET_WRITE_REASONS = ['deliver', 'own', 'label'] as const

/** Dependencies of the writes. */
interface SecretWriteDeps {
  readonly client: KubeClient
  readonly clientDeps: ClientDeps
}

const sha256 = (text: string): string => hash('sha256', text)

/** A text that stands for what the Secret is rendered from. */
export const templateDigest = (templateText: string): string => sha256(templateText)

/** A Secret that is not of the claim. `leaving`: it is of a former claim of that name, and goes by itself. */
type ForeignSecret = 'taken' | 'leaving'

/** Reads the Secret of a claim. @throws StatusError 403 without the right */
export async function readSecret(
  claim: Claim,
  { client }: Pick<SecretWriteDeps, 'client'>,
): Promise<SecretState | ForeignSecret> {
  const found = await client.get<Secret>(SECRETS, placeOf(claim))
  return found === null ? { kind: 'missing' } : stateOf(found, claim)
}

const placeOf = ({ namespace, secret: { name } }: Claim) => ({ namespace, name })

function stateOf(found: Secret, claim: Claim): SecretState | ForeignSecret {
  const view = secretViewOf(found, claim, sha256)
  if (view !== null) return { kind: 'held', view }
  const { ownerReferences = [] } = found.metadata
  const isOfFormer = ownerReferences.some(
    ({ kind, name, uid, controller }) =>
      kind === ACCESS_KEY_CLAIMS.kind && name === claim.name && uid !== claim.uid && controller,
  )
  return isOfFormer ? 'leaving' : 'taken'
}

/**
 * Tries the write of a Secret, with a credential that opens nothing.
 *
 * @param view null = there is no Secret
 * @throws StatusError as the write would
 */
export const tryWrite = (
  object: NamedObject,
  view: SecretView | null,
  { clientDeps }: Pick<SecretWriteDeps, 'clientDeps'>,
): Promise<void> =>
  view === null
    ? dryRunCreate(clientDeps, SECRETS, object)
    : dryRunApply(clientDeps, SECRETS, appliedTo(view, object))

/**
 * Writes the Secret: creates it where there was none, so that one that another makes meanwhile is left alone.
 *
 * @param view null = there is no Secret
 * @throws StatusError 409 when it is not as it was read
 */
export async function writeSecret(
  claim: Claim,
  object: NamedObject,
  view: SecretView | null,
  deps: SecretWriteDeps,
): Promise<SecretState> {
  const { client } = deps
  if (view !== null)
    return held(claim, await client.apply<Secret>(SECRETS, appliedTo(view, object), 'deliver'))
  const created = await client.create<Secret>(SECRETS, object, 'deliver')
  return ownCreated(claim, created, deps)
}

/** Makes what was created count as applied: a later apply then removes what it no longer names. */
async function ownCreated(
  claim: Claim,
  { metadata }: Secret,
  { client }: Pick<SecretWriteDeps, 'client'>,
): Promise<SecretState> {
  const { resourceVersion, managedFields = [] } = metadata
  const owned: readonly ManagedFieldsEntry[] = asApplied(managedFields)
  const operations = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'replace', path: '/metadata/managedFields', value: owned },
  ] as const
  return held(claim, await client.patch<Secret>(SECRETS, placeOf(claim), operations, 'own'))
}

/**
 * Writes labels, annotations and the owner of the Secret, with the data that it has: the plaintext is nowhere else.
 *
 * @returns `unknown` when the Secret is not as it was read
 * @throws StatusError 409 when it changes meanwhile
 */
export async function labelSecret(
  claim: Claim,
  view: SecretView,
  objectWith: (data: Readonly<Record<string, string>>) => NamedObject,
  deps: SecretWriteDeps,
): Promise<SecretState> {
  const found = await deps.client.get<Secret>(SECRETS, placeOf(claim))
  const now = found === null ? null : secretViewOf(found, claim, sha256)
  if (found === null || now === null || now.dataDigest !== view.dataDigest) return UNKNOWN_SECRET
  if (now.isCreatedOnly) return ownCreated(claim, found, deps)
  const object = appliedTo(now, objectWith(ownedData(found)))
  return held(claim, await deps.client.apply<Secret>(SECRETS, object, 'label'))
}

const appliedTo = ({ uid, resourceVersion }: SecretView, object: NamedObject): AppliedObject => ({
  ...object,
  metadata: { ...object.metadata, uid, resourceVersion },
})

/** The state after our own write: the label is ours, so it is held. */
function held(claim: Claim, written: Secret): SecretState {
  const state = stateOf(written, claim)
  return typeof state === 'string' ? UNKNOWN_SECRET : state
}
