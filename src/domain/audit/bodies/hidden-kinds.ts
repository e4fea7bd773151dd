// The kinds that hold credentials, with the fields of them that are none (contract 21.4).
import {
  ACCESS_KEYS,
  CONFIGS,
  GROUP,
  type Resource,
  SECRETS,
  TEAMS,
  TOKENS,
  USERS,
} from '../../../api/names.ts'
import { type SettingsSchema, configSettingsSchema } from '../../../api/config.schema.gen.ts'
import { type JsonMap, ownValue } from '../../json/json.ts'
import type { AuditedRequest } from '../policy.ts'
import {
  type Known,
  type KnownFields,
  VALUE,
  fieldsOf,
  listOf,
  mapOf,
  values,
} from './known-fields.ts'

/** A kind whose objects are recorded without what is secret in them. */
export interface HiddenKind {
  readonly resource: Resource
  /** The fields that are recorded. */
  readonly known: KnownFields
}

const STRINGS = listOf(VALUE)

const OBJECT_META = fieldsOf({
  ...values(
    'name',
    'generateName',
    'namespace',
    'selfLink',
    'uid',
    'resourceVersion',
    'generation',
  ),
  ...values('creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'),
  labels: mapOf(VALUE),
  annotations: mapOf(VALUE, ['kubectl.kubernetes.io/last-applied-configuration']),
  ownerReferences: listOf(
    fieldsOf(values('apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion')),
  ),
  finalizers: STRINGS,
})

/** An object with these fields beside its metadata. */
const objectWith = (fields: Readonly<Record<string, Known>>): KnownFields =>
  fieldsOf({ ...values('apiVersion', 'kind'), metadata: OBJECT_META, ...fields })

const CONDITIONS = listOf(
  fieldsOf(
    values('type', 'status', 'observedGeneration', 'lastTransitionTime', 'reason', 'message'),
  ),
)

const SCOPE = fieldsOf({
  roles: listOf(fieldsOf({ role: VALUE, projects: STRINGS, virtualClusters: STRINGS })),
  projects: listOf(fieldsOf(values('project'))),
  spaces: listOf(fieldsOf(values('project', 'space'))),
  virtualClusters: listOf(fieldsOf(values('project', 'virtualCluster'))),
  clusters: listOf(fieldsOf(values('cluster'))),
  rules: listOf(
    fieldsOf({
      verbs: STRINGS,
      resources: listOf(fieldsOf({ group: VALUE, resources: STRINGS, resourceNames: STRINGS })),
      resourceNames: STRINGS,
      namespaces: STRINGS,
      nonResourceURLs: STRINGS,
      requestTargets: STRINGS,
      cluster: VALUE,
      virtualClusters: listOf(fieldsOf(values('name', 'namespace'))),
    }),
  ),
  allowPlatformCli: VALUE,
})

/** A key but for what 12.4 hides, and for claims of a login, which have no schema. */
const ACCESS_KEY = objectWith({
  spec: fieldsOf({
    ...values('displayName', 'description', 'user', 'team', 'subject', 'disabled', 'ttl', 'type'),
    ...values('ttlAfterLastActivity', 'identityRefresh', 'parent'),
    groups: STRINGS,
    scope: SCOPE,
    identity: fieldsOf({
      ...values('userId', 'username', 'preferredUsername', 'email', 'emailVerified', 'connector'),
      extraClaims: fieldsOf({}),
      groups: STRINGS,
    }),
    oidcProvider: fieldsOf(values('clientId', 'nonce', 'redirectUri', 'scopes')),
  }),
  status: fieldsOf({
    ...values('lastActivity', 'expirationTimestamp', 'removalTimestamp', 'effectiveTTLSeconds'),
    ...values('keyID', 'identity', 'observedGeneration'),
    conditions: CONDITIONS,
  }),
})

const TOKEN = objectWith({
  spec: fieldsOf({ ttl: VALUE, scope: SCOPE }),
  status: fieldsOf({
    ...values('expirationTimestamp', 'issuedTimestamp', 'keyID', 'observedGeneration'),
    owner: fieldsOf(values('name', 'uid')),
    conditions: CONDITIONS,
  }),
})

const SETTINGS = Object.fromEntries(
  Object.entries(configSettingsSchema.properties ?? {}).map(([name, schema]) => [
    name,
    knownOf(schema),
  ]),
)

function knownOf({ type, properties, additionalProperties, items }: SettingsSchema): Known {
  if (items !== undefined) return listOf(knownOf(items))
  if (additionalProperties !== undefined) return mapOf(knownOf(additionalProperties))
  if (type !== 'object') return VALUE
  // Without properties, any field may be in it.
  const fields = Object.entries(properties ?? {}).map(([name, schema]) => [name, knownOf(schema)])
  return fieldsOf(Object.fromEntries(fields) as Readonly<Record<string, Known>>)
}

/** The settings, whose secrets `hideSecretSettings` hides. */
const CONFIG = objectWith({
  spec: fieldsOf(SETTINGS),
  status: fieldsOf({ ...SETTINGS, observedGeneration: VALUE, conditions: CONDITIONS }),
})

const PROVIDER_GROUPS = listOf(fieldsOf(values('connector', 'name')))

/** A User has no secret: its password is elsewhere. */
const USER = objectWith({
  spec: fieldsOf({
    ...values('username', 'displayName', 'email', 'disabled'),
    identities: listOf(fieldsOf(values('connector', 'subject'))),
    passwordRef: fieldsOf(values('name', 'key')),
  }),
  status: fieldsOf({
    ...values('username', 'lastSignIn', 'observedGeneration'),
    groups: PROVIDER_GROUPS,
    conditions: CONDITIONS,
  }),
})

const TEAM = objectWith({
  spec: fieldsOf({ ...values('name', 'displayName'), users: STRINGS, groups: PROVIDER_GROUPS }),
  status: fieldsOf({ ...values('name', 'observedGeneration'), conditions: CONDITIONS }),
})

const AUTHENTICATION = 'authentication.k8s.io'
const V1 = { group: AUTHENTICATION, version: 'v1' }

const TOKEN_REQUEST: HiddenKind = {
  resource: { ...V1, plural: 'tokenrequests', kind: 'TokenRequest' },
  known: objectWith({
    spec: fieldsOf({
      audiences: STRINGS,
      expirationSeconds: VALUE,
      boundObjectRef: fieldsOf(values('kind', 'apiVersion', 'name', 'uid')),
    }),
    status: fieldsOf(values('expirationTimestamp')),
  }),
}

const TOKEN_REVIEW: HiddenKind = {
  resource: { ...V1, plural: 'tokenreviews', kind: 'TokenReview' },
  known: objectWith({
    spec: fieldsOf({ audiences: STRINGS }),
    status: fieldsOf({
      ...values('authenticated', 'error'),
      user: fieldsOf({ ...values('username', 'uid'), groups: STRINGS, extra: mapOf(STRINGS) }),
      audiences: STRINGS,
    }),
  }),
}

/** By `<group>/<plural>`, with the subresource where it is another kind. */
const BY_PATH: ReadonlyMap<string, HiddenKind> = new Map([
  ['/secrets', { resource: SECRETS, known: objectWith(values('type', 'immutable')) }],
  ['/serviceaccounts/token', TOKEN_REQUEST],
  [`${AUTHENTICATION}/tokenreviews`, TOKEN_REVIEW],
  [`${GROUP}/${ACCESS_KEYS.plural}`, { resource: ACCESS_KEYS, known: ACCESS_KEY }],
  [`${GROUP}/${TOKENS.plural}`, { resource: TOKENS, known: TOKEN }],
  [`${GROUP}/${CONFIGS.plural}`, { resource: CONFIGS, known: CONFIG }],
  [`${GROUP}/${USERS.plural}`, { resource: USERS, known: USER }],
  [`${GROUP}/${TEAMS.plural}`, { resource: TEAMS, known: TEAM }],
])

/** A kind of our group that is none of these: it is hidden but for its metadata, as what a claim writes into its Secret. */
const OTHER_OF_OURS: HiddenKind = {
  resource: { group: GROUP, version: '', plural: '', kind: '' },
  known: objectWith({}),
}

/** The resource in the path of a request. */
interface PathResource {
  readonly group: string
  readonly resource: string
  readonly subresource: string
}

/** The hidden kind that a path is of; null = none. */
function hiddenKindOfPath({ group, resource, subresource }: PathResource): HiddenKind | null {
  const found =
    BY_PATH.get([group, resource].join('/')) ??
    BY_PATH.get([group, resource, subresource].join('/'))
  return found ?? (group === GROUP ? OTHER_OF_OURS : null)
}

/** The hidden kind that the path of a request is of; null = none. */
export const hiddenKindOf = (request: AuditedRequest | null): HiddenKind | null =>
  request === null || 'path' in request ? null : hiddenKindOfPath(request)

/** Whether the names in `details` of a Status, where `kind` may be a plural, are of a hidden kind. */
export const isOfHiddenKind = (group: string, kind: string): boolean =>
  hiddenKindOfPath({ group, resource: kind, subresource: '' }) !== null ||
  hiddenKind(group, kind) !== null

/**
 * The hidden kind that a body says it is, or, where it is a list, that its items are; null = none. Without an apiVersion
 * the kind decides alone.
 */
export function hiddenKindOfBody(object: JsonMap): HiddenKind | null {
  const [apiVersion, kind] = [ownValue(object, 'apiVersion'), ownValue(object, 'kind')]
  if (typeof kind !== 'string') return null
  return hiddenKind(typeof apiVersion === 'string' ? groupOf(apiVersion) : null, kind)
}

/**
 * The same for what stands within an object of another kind: an object, or a reference to one, which has an apiVersion too
 * and whose own fields are known besides.
 */
export function hiddenKindWithin(object: JsonMap): HiddenKind | null {
  if (typeof ownValue(object, 'apiVersion') !== 'string') return null
  const found = hiddenKindOfBody(object)
  if (found === null) return null
  const { resource, known } = found
  return {
    resource,
    known: { kind: 'fields', fields: new Map([...known.fields, ...REFERENCE.fields]) },
  }
}

/** The fields of an ObjectReference and an OwnerReference. */
const REFERENCE = fieldsOf(
  values(
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'fieldPath',
    'controller',
    'blockOwnerDeletion',
  ),
)

/** The group in an apiVersion. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''

const BY_KIND: ReadonlyMap<string, HiddenKind> = new Map(
  [...BY_PATH.values()].flatMap((one) => {
    const { kind } = one.resource
    return [kind, `${kind}List`].map((name) => [name, one] as const)
  }),
)

function hiddenKind(group: string | null, kind: string): HiddenKind | null {
  const found = BY_KIND.get(kind)
  if (found !== undefined && (group === null || group === found.resource.group)) return found
  return group === GROUP ? OTHER_OF_OURS : null
}

/** Whether a text of JSON may hold an object of a hidden kind. Fast: nearly all bodies hold none. */
export const mayNameHiddenKind = (json: string): boolean =>
  NAMES.some((name) => json.includes(name))

const NAMES: readonly string[] = [
  ...new Set([...BY_PATH.values()].map(({ resource }) => resource.kind)),
  GROUP,
].map((name) => `"${name}`)
