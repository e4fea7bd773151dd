// Claims on a control plane, as their users have them: a namespace, its owner, an app team that writes claims, and the delivery
// process with its own account.
import { stringify } from 'yaml'
import type {
  AccessKeyClaimSpec,
  AccessKeyClaimStatus,
} from '../../../src/api/accesskeyclaim.gen.ts'
import type { DirectClusterEndpointToken } from '../../../src/api/directclusterendpointtoken.gen.ts'
import {
  ACCESS_KEYS,
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  CLAIM_LABEL,
  ROTATE_ANNOTATION,
  TOKENS,
} from '../../../src/api/names.ts'
import type { Condition, ObjectMeta, Secret } from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import {
  type OwnProcess,
  type ServingOptions,
  startCommand,
} from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  type ObjectClient,
  type StoredEvent,
  type StoredObject,
  objectClientOf,
} from '../../support/object-client.ts'
import { untilMay } from '../../support/raw-client.ts'
import type { StoredKey } from '../keys/key-client.ts'

/** The time limit of every wait, on a busy machine. */
export const SOON = { withinMs: 30_000 }

/** Above the 30 s between two replacements of a claim (28.5), or between two looks at its Secret (28.4). */
export const AFTER_A_ROUND = { withinMs: 75_000 }

/** A stored claim. */
export interface StoredClaim extends StoredObject {
  readonly metadata: ObjectMeta
  readonly spec: AccessKeyClaimSpec
  readonly status: Omit<AccessKeyClaimStatus, 'conditions'> & {
    readonly conditions?: readonly Condition[]
  }
}

/** A Secret with its data as texts. */
export interface ReadSecret {
  readonly metadata: ObjectMeta
  readonly type: string
  readonly texts: Readonly<Record<string, string>>
}

/** A namespace with claims. Claims are written by its app team, a member of ClusterRole edit and of nothing else. */
export interface ClaimNamespace {
  readonly name: string
  /** A kubeconfig of the owner, a member of ClusterRole admin in the namespace alone. */
  readonly owner: string
  /** A kubeconfig of the app team. */
  readonly team: string
  readonly claims: ObjectClient<StoredClaim>
  /** Lets the delivery process write Secrets here, as the owner. */
  readonly allow: () => Promise<void>
  /** Takes that right away, as the owner. */
  readonly disallow: () => Promise<void>
  /** Applies a claim with kubectl, as the app team. @throws Error with what kubectl says when it is refused */
  readonly apply: (
    name: string,
    spec?: AccessKeyClaimSpec,
    annotations?: Readonly<Record<string, string>>,
  ) => Promise<StoredClaim>
  /** Applies a claim and waits until it is delivered. */
  readonly delivered: (name: string, spec?: AccessKeyClaimSpec) => Promise<StoredClaim>
  /** Changes spec by a merge patch, as an administrator. */
  readonly change: (name: string, spec: object) => Promise<StoredClaim>
  /** Asks for another credential, as the app team. */
  readonly rotate: (name: string, request: string) => Promise<void>
  /** Waits until another credential is delivered than the claim had, and until status says so. */
  readonly replaced: (before: StoredClaim, within?: typeof SOON) => Promise<StoredClaim>
  /** The claim as it is. @throws Error when it is gone */
  readonly read: (name: string) => Promise<StoredClaim>
  /** null = there is none. */
  readonly secret: (name: string) => Promise<ReadSecret | null>
  /** Keys with the label of the claim, also of one that is gone, the newest first. */
  readonly keys: (claim: StoredClaim) => Promise<readonly StoredKey[]>
  /** Tokens with the label of the claim, the newest first. */
  readonly tokens: (claim: StoredClaim) => Promise<readonly DirectClusterEndpointToken[]>
  /** Waits for an Event with this reason about the claim. */
  readonly event: (claim: StoredClaim, reason: string) => Promise<StoredEvent>
  /** kubectl as the app team. @throws Error with what it says when it fails */
  readonly kubectl: (...args: readonly string[]) => Promise<string>
}

/** Starts the delivery process with its own account; it is ready. */
export const startDelivery = async (
  plane: TestControlPlane,
  flags: readonly string[] = [],
  options: Omit<ServingOptions, 'flags'> = {},
): Promise<OwnProcess> =>
  startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig('platform-system', 'delivery'),
    flags,
    ...options,
  })

/** Creates a namespace with an owner and an app team. Nothing is delivered into it before `allow`. */
export async function createClaimNamespace(
  plane: TestControlPlane,
  name: string = uniqueName('shop').slice(0, 10),
): Promise<ClaimNamespace> {
  await mustKubectl(plane, ['create', 'namespace', name])
  const { owner, team } = await members(plane, name)
  const claims = objectClientOf<StoredClaim>(plane, ACCESS_KEY_CLAIMS, name)
  const [asOwner, asTeam] = [owner, team].map(
    (kubeconfig) =>
      (args: readonly string[], input = '') =>
        mustKubectl(plane, ['--namespace', name, ...args], { kubeconfig, input }),
  )
  if (!asOwner || !asTeam) throw new Error('there are two members')
  const read: ClaimNamespace['read'] = async (claim) => {
    const found = await claims.read(claim)
    if (!found) throw new Error(`there is no claim ${claim}`)
    return found
  }
  const apply: ClaimNamespace['apply'] = async (claim, spec = {}, annotations = {}) => {
    const metadata = { name: claim, annotations }
    const object = { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, metadata, spec }
    await asTeam(['apply', '-f', '-'], stringify(object))
    return read(claim)
  }
  return {
    name,
    owner,
    team,
    claims,
    allow: async () => void (await asOwner(ALLOW)),
    disallow: async () => void (await asOwner(DISALLOW)),
    apply,
    delivered: async (claim, spec) => claims.shown(await apply(claim, spec), 'Delivered'),
    change: (claim, spec) => claims.patch(claim, { spec }),
    rotate: async (claim, request) =>
      void (await asTeam([
        'annotate',
        'akc',
        claim,
        '--overwrite',
        `${ROTATE_ANNOTATION}=${request}`,
      ])),
    replaced: (before, within = SOON) =>
      eventually(
        `${before.metadata.name} has another credential`,
        async () => {
          const now = await read(before.metadata.name)
          const { key, token } = before.status
          const isOther =
            now.status.key?.keyID !== key?.keyID || now.status.token?.name !== token?.name
          if (isOther && isReady(now)) return now
          throw new Error(JSON.stringify(now.status))
        },
        within,
      ),
    read,
    secret: (secret) => readSecret(plane, name, secret),
    keys: (claim) => labelled<StoredKey>(plane, ACCESS_KEYS, claim),
    tokens: (claim) => labelled<DirectClusterEndpointToken>(plane, TOKENS, claim),
    event: (claim, reason) =>
      eventually(
        `Event ${reason} of ${claim.metadata.name}`,
        async () => (await claims.events(claim)).find((event) => event.reason === reason),
        SOON,
      ),
    kubectl: (...args) => asTeam(args),
  }
}

const ROLE = 'platform-secret-delivery'
/** The command of condition DeliveryForbidden. */
const ALLOW = [
  'create',
  'rolebinding',
  ROLE,
  `--clusterrole=${ROLE}`,
  '--serviceaccount=platform-system:delivery',
]
const DISALLOW = ['delete', 'rolebinding', ROLE]

/** Whether Ready is True for the generation that the claim has. */
const isReady = ({ metadata, status }: StoredClaim): boolean =>
  findCondition(status.conditions ?? [], 'Ready')?.status === 'True' &&
  status.observedGeneration === metadata.generation

async function members(
  plane: TestControlPlane,
  namespace: string,
): Promise<{ readonly owner: string; readonly team: string }> {
  const bound = async (role: 'admin' | 'edit') => {
    const user = `${role}-of-${namespace}`
    const to = [`--clusterrole=${role}`, `--user=${user}`, '--namespace', namespace]
    await mustKubectl(plane, ['create', 'rolebinding', user, ...to])
    const kubeconfig = await plane.clientKubeconfig({ name: user, user, groups: [] })
    const group = ACCESS_KEY_CLAIMS.group
    await untilMay(
      plane.raw,
      { user },
      { verb: 'patch', resource: ACCESS_KEY_CLAIMS.plural, group, namespace },
    )
    return kubeconfig
  }
  const [owner, team] = await Promise.all([bound('admin'), bound('edit')])
  return { owner, team }
}

async function readSecret(
  { raw }: TestControlPlane,
  namespace: string,
  name: string,
): Promise<ReadSecret | null> {
  const path = `/api/v1/namespaces/${namespace}/secrets/${name}`
  const { code, body } = await raw<Secret>('GET', path)
  if (code === 404) return null
  const { metadata, type = '', data = {} } = body
  const texts = Object.entries(data).map(([entry, base64]) => [
    entry,
    Buffer.from(base64, 'base64').toString(),
  ])
  return { metadata, type, texts: Object.fromEntries(texts) }
}

async function labelled<Kept extends { readonly metadata: ObjectMeta }>(
  { raw }: TestControlPlane,
  resource: typeof ACCESS_KEYS,
  { metadata: { uid } }: StoredClaim,
): Promise<readonly Kept[]> {
  const selector = encodeURIComponent(`${CLAIM_LABEL}=${uid}`)
  const path = `${pathOf(resource, {})}?labelSelector=${selector}`
  const { body } = await raw<{ readonly items: readonly Kept[] }>('GET', path)
  return body.items.toSorted((a, b) =>
    b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp),
  )
}

/** Claims that were delivered once: nothing is replaced for 30 s afterwards, so tests change them one after the other. */
export interface DeliveredClaims<Name extends string> {
  /** The claim as it was first delivered. */
  readonly was: (name: Name) => StoredClaim
  /** Waits until it has another credential than at first. */
  readonly replaced: (name: Name) => Promise<StoredClaim>
  /** Its first key. */
  readonly firstKey: (name: Name) => string
}

/** Creates claims as an administrator, who may name anybody, and waits until all are delivered. */
export async function deliverAll<Name extends string>(
  plane: TestControlPlane,
  shop: ClaimNamespace,
  specs: Readonly<Record<Name, AccessKeyClaimSpec>>,
): Promise<DeliveredClaims<Name>> {
  const names = Object.keys(specs) as Name[]
  const made = names.map(async (name) => {
    await declareClaim(plane, shop, name, specs[name])
    return [name, await shop.claims.shown(name, 'Delivered')] as const
  })
  const first = new Map<Name, StoredClaim>(await Promise.all(made))
  const was = (name: Name): StoredClaim => {
    const claim = first.get(name)
    if (!claim) throw new Error(`there is no claim ${name}`)
    return claim
  }
  return {
    was,
    replaced: (name) => shop.replaced(was(name), AFTER_A_ROUND),
    firstKey: (name) => was(name).status.key?.name ?? '',
  }
}

/** Applies a claim as an administrator, who may name anybody. */
export const declareClaim = (
  plane: TestControlPlane,
  { name: namespace }: ClaimNamespace,
  name: string,
  spec: AccessKeyClaimSpec,
): Promise<string> => {
  const metadata = { name, namespace }
  const object = { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, metadata, spec }
  return mustKubectl(plane, ['apply', '-f', '-'], { input: JSON.stringify(object) })
}
