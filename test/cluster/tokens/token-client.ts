// Tokens for direct endpoints on a control plane, as a test makes, reads and watches them.
import type {
  DirectClusterEndpointTokenSpec,
  DirectClusterEndpointTokenStatus,
} from '../../../src/api/directclusterendpointtoken.gen.ts'
import { ACCESS_KEYS, API_VERSION, TOKENS } from '../../../src/api/names.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../../../src/api/objects.ts'
import { formatTimestamp } from '../../../src/domain/time.ts'
import type { NewObject } from '../../../src/kube/client/client.ts'
import type { Audit, AuditedWrite, Mark } from '../../support/audit-log.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type ObjectClient, objectClientOf } from '../../support/object-client.ts'
import { type StoredKey, hasConditions } from '../keys/key-client.ts'

/** A token as the API server has it; status is empty before the operator has seen it. */
export interface StoredToken extends KubeObject {
  readonly spec: DirectClusterEndpointTokenSpec
  readonly status: DirectClusterEndpointTokenStatus
}

/** The tokens of a control plane. */
export interface TokenClient extends Omit<ObjectClient<StoredToken>, 'create'> {
  /** Under a name of its own, without an owner unless metadata names one. */
  create(
    spec?: DirectClusterEndpointTokenSpec,
    metadata?: Partial<ObjectMeta>,
  ): Promise<StoredToken>
  /** The same, and waits until it is issued. */
  issue(spec?: DirectClusterEndpointTokenSpec, metadata?: Partial<ObjectMeta>): Promise<StoredToken>
}

/** The tokens of a control plane. */
export function tokenClientOf(plane: Pick<TestControlPlane, 'raw'>): TokenClient {
  const stored = objectClientOf<StoredToken>(plane, TOKENS)
  const create: TokenClient['create'] = (spec, metadata) => stored.create(newToken(spec, metadata))
  return {
    ...stored,
    create,
    issue: async (spec, metadata) => stored.shown(await create(spec, metadata), 'Issued'),
  }
}

/** How long it may take on a busy machine until one token of seconds is issued before it has ended. */
const IN_ITS_TIME = { withinMs: 40_000 }

/**
 * A token of seconds as it is issued. What is made for seconds may have ended before a busy operator could
 * issue it: then another one is made.
 */
export const issuedInTime = (
  tokens: TokenClient,
  make: () => Promise<StoredToken>,
): Promise<StoredToken> =>
  eventually(
    'a token is issued before it ends',
    async () => {
      const token = await tokens.until(await make(), 'is reported', hasConditions)
      return token.status.token === undefined ? undefined : token
    },
    IN_ITS_TIME,
  )

/** A token to create, under a name of its own. */
export const newToken = (
  spec: DirectClusterEndpointTokenSpec = {},
  metadata: Partial<ObjectMeta> = {},
): NewObject => ({
  apiVersion: API_VERSION,
  kind: TOKENS.kind,
  metadata: { name: uniqueName('token'), ...metadata },
  spec,
})

/** A reference to the access key that is to own a token. */
export const controllerOf = (
  { metadata: { name, uid } }: Pick<StoredKey, 'metadata'>,
  differing: Partial<OwnerReference> = {},
): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name,
  uid,
  controller: true,
  ...differing,
})

/** Metadata of a token that this access key owns. */
export const under = (
  key: Pick<StoredKey, 'metadata'>,
  differing: Partial<OwnerReference> = {},
): Pick<ObjectMeta, 'ownerReferences'> => ({ ownerReferences: [controllerOf(key, differing)] })

/** When the object was created, in epoch milliseconds: in whole seconds, as iat has it. */
export const bornMs = ({ metadata }: Pick<KubeObject, 'metadata'>): number =>
  Date.parse(metadata.creationTimestamp)

/** The time that many seconds after the creation, as status writes it. */
export const bornPlus = (object: Pick<KubeObject, 'metadata'>, seconds: number): string =>
  formatTimestamp(bornMs(object) + seconds * 1000)

/** A foreign finalizer: with it an object is to be seen after the operator's has gone. */
export const FOREIGN = 'example.com/backup'

/** The garbage collector looks every 30 s for kinds that are new. */
const LEARNED = { withinMs: 50_000 }

/** Waits until the garbage collector of a new control plane knows our kinds. */
export async function collectorReady(tokens: TokenClient): Promise<void> {
  const nobody = { metadata: { name: 'nobody', uid: 'nobody' } } as StoredKey
  const orphan = await tokens.create({}, under(nobody))
  const isGone = async () => (await tokens.read(orphan)) === null || undefined
  await eventually('the garbage collector knows tokens', isGone, LEARNED)
}

/** What the operator wrote since a mark, events aside: verb, resource and subresource. */
export async function writesSince(audit: Audit, mark: Mark): Promise<readonly string[]> {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
  return writes.filter(({ resource }) => resource !== 'events').map(textOf)
}

/** What it wrote to one object alone. */
export async function writesTo(
  { metadata: { name } }: StoredToken,
  audit: Audit,
  mark: Mark,
): Promise<readonly string[]> {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  return writes
    .filter((write) => write.resource === TOKENS.plural && write.name === name)
    .map(textOf)
}

const textOf = ({ verb, resource, subresource, code }: AuditedWrite): string =>
  [verb, resource, subresource, code < 300 ? '' : code].filter(Boolean).join(' ')
