// Tokens for tests: a row names what differs, the builders fill in the rest.
import type { DirectClusterEndpointToken } from '../../src/api/directclusterendpointtoken.gen.ts'
import { ACCESS_KEYS, API_VERSION, REVOKE_FINALIZER, TOKENS } from '../../src/api/names.ts'
import type { KubeObject, ManagedFieldsEntry, OwnerReference } from '../../src/api/objects.ts'
import { secretDigest } from '../../src/authn/credential-index.ts'
import { TOKEN_INDEXERS, type Owner } from '../../src/controllers/indexes/tokens.ts'
import type { TokenPlanInput } from '../../src/controllers/directclusterendpointtoken/facts.ts'
import { type TokenStep, plan } from '../../src/controllers/directclusterendpointtoken/plan.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../src/controllers/indexes/access-keys.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../src/domain/accesskey/access-key.ts'
import type { TokenClaims } from '../../src/domain/token/token-claims.ts'
import { type TokenObject, tokenOf } from '../../src/domain/token/token.ts'
import { Store, type StoreSink } from '../../src/kube/informer/store.ts'
import { DAY_MS, accessKey, statusEntry, t0, textAfter } from './key-builder.ts'
import type { Parts } from './object-builder.ts'

/** The fields of a token object that a row of a table names. */
export type TokenParts = Parts<DirectClusterEndpointToken>

/** The issuer of all tokens here. */
export const ISSUER = 'https://platform.example.com/oidc'

/** Id of the key that signs unless a test says otherwise. */
export const KID = 'kid-1'

/** A token object as the API server has it: created at t0, adopted, its whole status ours. */
export function tokenObject({ metadata, spec = {}, status = {} }: TokenParts = {}) {
  const object: DirectClusterEndpointToken = {
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: {
      name: 'deploy',
      uid: 'uid-deploy',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: textAfter(0),
      finalizers: [REVOKE_FINALIZER],
      managedFields: [statusEntry(status)],
      ...metadata,
    },
    spec,
    status,
  }
  return object
}

/** The slim view of such an object. */
export const token = (parts: TokenParts = {}): TokenObject => tokenOf(tokenObject(parts))

/** The controller reference to an access key. */
export const referenceTo = ({ name, uid }: Pick<AccessKey, 'name' | 'uid'>): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name,
  uid,
  controller: true,
})

/** Metadata with key `ci` of accessKey() as the owner. */
export const UNDER_CI = { ownerReferences: [referenceTo({ name: 'ci', uid: 'uid-ci' })] } as const

/** Key `ci` of user ada, which is valid and never expires; else as given. */
export const owner = (
  key: Partial<AccessKey> = {},
  rest: Partial<Omit<Owner, 'key'>> = {},
): Owner => {
  const { state = 'Active', above = null } = rest
  const passes = state === 'Active' || state === 'IdentityStale' || state === 'SignInAgain'
  const end = passes ? null : { state, above }
  return { key: accessKey(key), state, above, end, expiresMs: null, ...rest }
}

/** No owner, no caps, a limit and a retention of 24 h, a usable signing key, the moment t0; else as given. */
export const tokenCircumstances = (differing: Partial<TokenPlanInput> = {}): TokenPlanInput => ({
  owner: null,
  teams: [],
  isInTeam: () => false,
  caps: { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 },
  configName: 'platform-manager-config',
  issuer: ISSUER,
  signing: { algorithm: 'ES256' },
  isKeyWithdrawn: false,
  maxTtlMs: DAY_MS,
  isRecorded: false,
  recordFault: null,
  recordAskedForMs: null,
  retentionMs: DAY_MS,
  nowMs: t0,
  ...differing,
})

/** A compact JWS of these claims, as long as with ES256. Its signature is invalid. */
export const tokenText = (claims: object, kid = KID): string =>
  [JSON.stringify({ alg: 'ES256', kid, typ: 'JWT' }), JSON.stringify(claims), 's'.repeat(64)]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')

/** The claims in a token; throws for a malformed one. */
export const claimsIn = (text: string): TokenClaims =>
  JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as TokenClaims

/** The object after a step of the reconciler; null when it is deleted. */
export function tokenAfter(
  object: DirectClusterEndpointToken,
  step: TokenStep,
  kid = KID,
): DirectClusterEndpointToken | null {
  const { metadata } = object
  const { finalizers = [] } = metadata
  switch (step.kind) {
    case 'nothing':
    case 'wait':
    case 'record':
      return object
    case 'adopt':
      return withMetadata(object, { finalizers: [...finalizers, REVOKE_FINALIZER] })
    case 'issue':
      return applied(object, { ...step.status, token: tokenText(step.claims, kid), keyID: kid })
    case 'publish':
      return applied(object, { ...step.status, ...tokenToApply(object, step.keepsToken) })
    case 'delete':
      return finalizers.length > 0
        ? withMetadata(object, { deletionTimestamp: metadata.deletionTimestamp ?? textAfter(0) })
        : null
    case 'release': {
      const left = finalizers.filter((finalizer) => finalizer !== REVOKE_FINALIZER)
      return left.length > 0 ? withMetadata(object, { finalizers: left }) : null
    }
    default:
      return step satisfies never
  }
}

/** The object with these metadata; the rest stays. */
export const withMetadata = (
  object: DirectClusterEndpointToken,
  metadata: Partial<DirectClusterEndpointToken['metadata']>,
): DirectClusterEndpointToken => ({ ...object, metadata: { ...object.metadata, ...metadata } })

/** The object after another client has written these fields of status; undefined removes one. */
export function tampered(
  object: DirectClusterEndpointToken,
  foreign: Readonly<Record<string, unknown>>,
): DirectClusterEndpointToken {
  const { ours, theirs } = fieldsOf(object)
  const isLeft = ([name]: readonly [string, unknown]): boolean => !Object.hasOwn(foreign, name)
  const given = Object.entries(foreign).filter(([, value]) => value !== undefined)
  return withFields(object, ours.filter(isLeft), [...theirs.filter(isLeft), ...given])
}

type Fields = readonly (readonly [name: string, value: unknown])[]

/** After our server-side apply: fields of other clients stay unless we set them. */
function applied(object: DirectClusterEndpointToken, status: object): DirectClusterEndpointToken {
  const { theirs } = fieldsOf(object)
  return withFields(
    object,
    Object.entries(status),
    theirs.filter(([name]) => !Object.hasOwn(status, name)),
  )
}

const THEIRS = 'kubectl-edit'

function fieldsOf({ metadata: { managedFields = [] }, status }: DirectClusterEndpointToken) {
  const entry = managedFields.find(({ manager }) => manager === THEIRS)
  const foreign = entry?.fieldsV1?.['f:status'] ?? {}
  const all: Fields = Object.entries({ ...status })
  const isTheirs = ([name]: readonly [string, unknown]): boolean =>
    Object.hasOwn(foreign, `f:${name}`)
  return { ours: all.filter((field) => !isTheirs(field)), theirs: all.filter(isTheirs) }
}

function withFields(
  object: DirectClusterEndpointToken,
  ours: Fields,
  theirs: Fields,
): DirectClusterEndpointToken {
  const foreign: ManagedFieldsEntry = {
    ...statusEntry(Object.fromEntries(theirs)),
    manager: THEIRS,
    operation: 'Update',
  }
  const managedFields = [statusEntry(Object.fromEntries(ours)), foreign]
  const status = Object.fromEntries([...ours, ...theirs])
  return { ...withMetadata(object, { managedFields }), status }
}

/** As the reconciler does: keeps, removes, or takes over and empties it. */
function tokenToApply(
  object: DirectClusterEndpointToken,
  keepsToken: boolean,
): { readonly token?: string } {
  if (keepsToken) return { token: object.status?.token ?? '' }
  return tokenOf(object).published.isTokenForeign ? { token: '' } : {}
}

/** The object with a token issued in these circumstances; throws when none is issued. */
export function issuedObject(
  parts: TokenParts = {},
  around: Partial<TokenPlanInput> = {},
): DirectClusterEndpointToken {
  const object = tokenObject(parts)
  const step = plan(tokenOf(object), tokenCircumstances(around))
  if (step.kind !== 'issue') throw new Error(`the step is to ${step.kind}`)
  return tokenAfter(object, step) ?? object
}

/** The slim view of it. */
export const issued = (parts: TokenParts = {}, around: Partial<TokenPlanInput> = {}): TokenObject =>
  tokenOf(issuedObject(parts, around))

/** A store of these tokens, synced. */
export function tokenStore(...objects: readonly DirectClusterEndpointToken[]): Store<TokenObject> {
  const store = new Store(
    (object: KubeObject) => tokenOf(object as DirectClusterEndpointToken),
    TOKEN_INDEXERS,
  )
  fill(store, objects)
  return store
}

/** A store of these access keys, synced. */
export function keyStore(...objects: readonly OwnedAccessKeyObject[]): Store<AccessKey> {
  const keyOf = (object: KubeObject) => accessKeyOf(object as OwnedAccessKeyObject, secretDigest)
  const store = new Store(keyOf, KEY_INDEXERS, KEY_ORDERS)
  fill(store, objects)
  return store
}

function fill(store: StoreSink, objects: readonly KubeObject[]): void {
  store.begin()
  for (const object of objects) store.put(object)
  store.end()
}
