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

/** A stored token; status is empty until the operator writes it. */
export interface StoredToken extends KubeObject {
  readonly spec: DirectClusterEndpointTokenSpec
  readonly status: DirectClusterEndpointTokenStatus
}

/** All methods but `read` throw when the API server refuses. */
export interface TokenClient extends Omit<ObjectClient<StoredToken>, 'create'> {
  /** Creates a token under a unique name, without an owner unless `metadata` has one. */
  create(
    spec?: DirectClusterEndpointTokenSpec,
    metadata?: Partial<ObjectMeta>,
  ): Promise<StoredToken>
  /** Creates a token and waits until it is issued. */
  issue(spec?: DirectClusterEndpointTokenSpec, metadata?: Partial<ObjectMeta>): Promise<StoredToken>
}

/** The client for the tokens of a control plane. */
export function tokenClientOf(plane: Pick<TestControlPlane, 'raw'>): TokenClient {
  const stored = objectClientOf<StoredToken>(plane, TOKENS)
  const create: TokenClient['create'] = (spec, metadata) => stored.create(newToken(spec, metadata))
  return {
    ...stored,
    create,
    issue: async (spec, metadata) => stored.shown(await create(spec, metadata), 'Issued'),
  }
}

/** Time for several attempts on a busy machine. */
const IN_ITS_TIME = { withinMs: 40_000 }

/** An issued token with a ttl of seconds; retried, as it may expire before a busy operator issues it. */
export const issuedInTime = (
  tokens: TokenClient,
  make: () => Promise<StoredToken>,
): Promise<StoredToken> =>
  eventually(
    'a token is issued before it expires',
    async () => {
      const token = await tokens.until(await make(), 'is reported', hasConditions)
      return token.status.token === undefined ? undefined : token
    },
    IN_ITS_TIME,
  )

/** A token to create, under a unique name. */
export const newToken = (
  spec: DirectClusterEndpointTokenSpec = {},
  metadata: Partial<ObjectMeta> = {},
): NewObject => ({
  apiVersion: API_VERSION,
  kind: TOKENS.kind,
  metadata: { name: uniqueName('token'), ...metadata },
  spec,
})

/** A controller reference to an access key. */
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

/** Metadata with a controller reference to an access key. */
export const under = (
  key: Pick<StoredKey, 'metadata'>,
  differing: Partial<OwnerReference> = {},
): Pick<ObjectMeta, 'ownerReferences'> => ({ ownerReferences: [controllerOf(key, differing)] })

/** When the object was created, in epoch milliseconds; whole seconds, like iat. */
export const bornMs = ({ metadata }: Pick<KubeObject, 'metadata'>): number =>
  Date.parse(metadata.creationTimestamp)

/** The time `seconds` after the creation, in the format of status. */
export const bornPlus = (object: Pick<KubeObject, 'metadata'>, seconds: number): string =>
  formatTimestamp(bornMs(object) + seconds * 1000)

/** A foreign finalizer, which keeps an object after the removal of the operator's. */
export const FOREIGN = 'example.com/backup'

/** The garbage collector discovers new kinds every 30 s. */
const DISCOVERED = { withinMs: 50_000 }

/** Waits until the garbage collector of a new control plane knows our kinds. */
export async function collectorReady(tokens: TokenClient): Promise<void> {
  const missing = { metadata: { name: 'missing', uid: 'missing' } } as StoredKey
  const orphan = await tokens.create({}, under(missing))
  const isGone = async () => (await tokens.read(orphan)) === null || undefined
  await eventually('the garbage collector knows tokens', isGone, DISCOVERED)
}

/** The operator's writes since a mark, without events and Leases: verb, resource and subresource. */
export async function writesSince(audit: Audit, mark: Mark): Promise<readonly string[]> {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
  return writes.filter(({ resource }) => resource !== 'events').map(textOf)
}

/** The operator's writes to one token since a mark. */
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
