// Parses an AccessKeyClaim into the form that all decisions use (contract 28.1). It has no secret.
import type {
  AccessKeyClaim,
  AccessKeyClaimSpec,
  AccessKeyClaimStatus,
  ClaimedKeySpec,
  ClaimedSecretSpec,
  ClaimedTokenSpec,
} from '../../api/accesskeyclaim.gen.ts'
import { GROUP, ROTATE_ANNOTATION } from '../../api/names.ts'
import type { Condition, ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { isDnsSubdomain } from '../dns-name.ts'
import {
  type Untyped,
  entriesPassing,
  fieldsOf,
  isAbsent,
  isMap,
  isStringOrAbsent,
  passing,
  scopeOf,
  secondsOf,
  stringOf,
  stringsOf,
} from '../json/json.ts'
import { finalizersOf } from '../shared-metadata.ts'
import { parseTimestamp } from '../time.ts'

/** The access key that a claim asks for. */
export interface ClaimedKey {
  /** At most one of user, team and subject is set; an empty text is none. */
  readonly user: string
  readonly team: string
  /** `claim:<namespace>:<name>` where the claim names nobody (contract 28.2). */
  readonly subject: string
  readonly groups: readonly string[]
  /** An empty text is none, as in description. */
  readonly displayName: string
  readonly description: string
  /** Never 0: nothing that renews itself is endless. */
  readonly ttlSeconds: number
  /** null = the identity's full rights. */
  readonly scope: Scope | null
}

/** The token that a claim asks for instead of the key that owns it. */
export interface ClaimedToken {
  readonly ttlSeconds: number
  /** null = the scope of the key. */
  readonly scope: Scope | null
}

/** Types of Secrets that a claim may ask for: none of them makes the API server or the platform grant anything. */
const SECRET_TYPES = [
  'Opaque',
  'kubernetes.io/basic-auth',
  'kubernetes.io/dockerconfigjson',
] as const

/** The Secret that a claim asks for. */
export interface ClaimedSecret {
  readonly name: string
  readonly type: (typeof SECRET_TYPES)[number]
  /** Without names that are not for a claim to set, as in annotations. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Templates by the names of entries (contract 28.4). */
  readonly data: Readonly<Record<string, string>>
  /** Path below /kubernetes/ at the gateway, such as `management` or `cluster/blue`. */
  readonly target: string
}

/** A claim, as decisions need it. */
export interface Claim {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  /** Epoch milliseconds. */
  readonly creationMs: number
  readonly isDeleting: boolean
  readonly finalizers: readonly string[]
  readonly key: ClaimedKey
  /** null = the key itself is delivered. */
  readonly token: ClaimedToken | null
  /** Seconds from a credential's creation until it is replaced; null = the default of its lifetime. */
  readonly rotateAfterSeconds: number | null
  /** Seconds that an elder works after its successor is delivered; null = until its own end. */
  readonly overlapSeconds: number | null
  /** Whether nothing is made or replaced; also true when spec is malformed. */
  readonly isSuspended: boolean
  readonly secret: ClaimedSecret
  /** What asks for a rotation now, unless status.lastRotate has it already (contract 28.5); null = nothing does. */
  readonly rotateRequest: string | null
  /** status, without fields of a wrong type. */
  readonly published: PublishedClaim
}

/** The status of a claim; its conditions are always a list. */
export interface PublishedClaim extends AccessKeyClaimStatus {
  readonly conditions: readonly Condition[]
}

/** `user:<user>`, `team:<team>` or `subject:<subject>`, as in the status of the key (contract 1.5). */
export function identityOf({ user, team, subject }: ClaimedKey): string {
  if (user !== '') return `user:${user}`
  return team === '' ? `subject:${subject}` : `team:${team}`
}

/** Seconds: 30 days. */
const DEFAULT_KEY_TTL = 2_592_000
const SHORTEST_KEY_TTL = 600
/** Seconds: a day. */
const DEFAULT_TOKEN_TTL = 86_400
const SHORTEST_TOKEN_TTL = 120
const SHORTEST_ROTATE_AFTER = 300

/** As many characters as status.lastRotate has room for. */
const LONGEST_ROTATE_REQUEST = 256

/**
 * Parses an object. An empty text in spec counts as absent (contract 1.2). Never throws: a claim with a value that the
 * schema refuses is suspended, and asks for no more than without that value (10.3).
 */
export function claimOf({ metadata, spec: given, status }: AccessKeyClaim): Claim {
  const spec: Untyped<AccessKeyClaimSpec> = fieldsOf(given)
  const rotateAfterSeconds = secondsOf(spec.rotateAfter)
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: finalizersOf(metadata),
    key: keyOf(metadata, fieldsOf(spec.key)),
    token: isAbsent(spec.token) ? null : tokenOf(fieldsOf(spec.token), isMap(spec.token)),
    rotateAfterSeconds:
      rotateAfterSeconds === null || rotateAfterSeconds < SHORTEST_ROTATE_AFTER
        ? null
        : rotateAfterSeconds,
    overlapSeconds: isAbsent(spec.overlap) ? null : (secondsOf(spec.overlap) ?? 0),
    isSuspended: !isFalseOrAbsent(spec.suspend) || isMalformed(given, spec),
    secret: secretOf(metadata.name, fieldsOf(spec.secret), !isAbsent(spec.token)),
    rotateRequest: rotateRequestOf(metadata),
    published: publishedOf(status),
  }
}

function keyOf({ namespace = '', name }: ObjectMeta, spec: Untyped<ClaimedKeySpec>): ClaimedKey {
  const [user = '', team = '', subject = ''] = isIdentityReadable(spec)
    ? [spec.user, spec.team, spec.subject].map((one) => stringOf(one) ?? '')
    : []
  return {
    user,
    team,
    subject: user + team + subject === '' ? `claim:${namespace}:${name}` : subject,
    groups: stringsOf(spec.groups) ?? [],
    displayName: stringOf(spec.displayName) ?? '',
    description: stringOf(spec.description) ?? '',
    ttlSeconds: ttlOf(spec.ttl, SHORTEST_KEY_TTL, DEFAULT_KEY_TTL),
    scope: scopeOf(spec.scope),
  }
}

/** At most one name, and each a text. */
const isIdentityReadable = ({ user, team, subject }: Untyped<ClaimedKeySpec>): boolean =>
  [user, team, subject].every(isStringOrAbsent) && [user, team, subject].filter(Boolean).length <= 1

/** Fails closed: a token that can't be read is one that may nothing, not a key. */
const tokenOf = (spec: Untyped<ClaimedTokenSpec>, isReadable: boolean): ClaimedToken => ({
  ttlSeconds: ttlOf(spec.ttl, SHORTEST_TOKEN_TTL, DEFAULT_TOKEN_TTL),
  scope: isReadable ? scopeOf(spec.scope) : {},
})

/** Seconds; the shortest lifetime for a malformed one. */
const ttlOf = (value: unknown, shortest: number, fallback: number): number =>
  (secondsOf(value) ?? shortest) || fallback

function secretOf(
  claimName: string,
  { name, type, labels, annotations, data, target }: Untyped<ClaimedSecretSpec>,
  hasToken: boolean,
): ClaimedSecret {
  const named = stringOf(name) ?? ''
  const wanted = stringOf(target) ?? ''
  return {
    name: isDnsSubdomain(named) ? named : claimName,
    type: SECRET_TYPES.find((one) => one === type) ?? 'Opaque',
    labels: withoutReserved(textsOf(labels), OPEN_LABELS),
    annotations: withoutReserved(textsOf(annotations), OPEN_ANNOTATIONS),
    data: isAbsent(data) ? defaultData(hasToken) : textsOf(data),
    target: TARGET.test(wanted) ? wanted : 'management',
  }
}

const defaultData = (hasToken: boolean): Readonly<Record<string, string>> =>
  hasToken ? { token: '$(TOKEN)' } : { key: '$(KEY)' }

/** What the gateway serves below /kubernetes/ (contract 9.1), as the schema has it. */
const TARGET =
  /^(?:management|cluster\/[a-z0-9][-a-z0-9.]*|project\/[a-z0-9][-a-z0-9.]*\/(?:space|virtualcluster)\/[a-z0-9][-a-z0-9.]*)$/

/** Names of labels and annotations that give a Secret a meaning to Kubernetes or to the platform (contract 28.4). */
const RESERVED = ['kubernetes.io', 'k8s.io', GROUP]
/** Names that are reserved, and still for a claim to set (contract 28.4). */
const OPEN_LABELS = [`${GROUP}/secret-store`]
const OPEN_ANNOTATIONS = [`${GROUP}/secret-store-path`, `${GROUP}/secret-store-version`]

/** A label that defines a target (contract 9.5) must not come from a claim, whatever the API server stored. */
const withoutReserved = (
  texts: Readonly<Record<string, string>>,
  open: readonly string[],
): Readonly<Record<string, string>> =>
  entriesPassing(
    texts,
    (name) => open.includes(name) || !RESERVED.some((one) => name.includes(one)),
  )

/** The value of annotation `rotate`, as far as status.lastRotate has room for it; null = there is none. */
export function rotateRequestOf({ annotations }: ObjectMeta): string | null {
  const text = stringOf(fieldsOf(annotations)[ROTATE_ANNOTATION]) ?? ''
  return text === '' ? null : Array.from(text).slice(0, LONGEST_ROTATE_REQUEST).join('')
}

function publishedOf(status: unknown): PublishedClaim {
  const {
    key,
    previous,
    token,
    observedGeneration,
    conditions,
    ...texts
  }: Untyped<AccessKeyClaimStatus> = fieldsOf(status)
  return {
    ...textsOf(texts),
    ...(isMap(key) ? { key: textsOf(key) } : {}),
    ...(isMap(previous) ? { previous: textsOf(previous) } : {}),
    ...(isMap(token) ? { token: textsOf(token) } : {}),
    ...(typeof observedGeneration === 'number' ? { observedGeneration } : {}),
    conditions: Array.isArray(conditions) ? passing<Condition>(conditions, isCondition) : [],
  }
}

const CONDITION_TEXTS = ['type', 'status', 'reason', 'message', 'lastTransitionTime']

const isCondition = (value: unknown): value is Condition =>
  isMap(value) && CONDITION_TEXTS.every((name) => typeof value[name] === 'string')

/** The entries of a map that are texts. */
const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  entriesPassing(fieldsOf(value), (_, text) => typeof text === 'string') as Readonly<
    Record<string, string>
  >

/** Whether spec has a value that the schema refuses and that might limit, name or place what is delivered. */
function isMalformed(given: unknown, spec: Untyped<AccessKeyClaimSpec>): boolean {
  const key: Untyped<ClaimedKeySpec> = fieldsOf(spec.key)
  const token: Untyped<ClaimedTokenSpec> = fieldsOf(spec.token)
  const rotateAfter = isAbsent(spec.rotateAfter) ? SHORTEST_ROTATE_AFTER : spec.rotateAfter
  return !(
    [given, spec.key, spec.token, spec.secret, key.scope, token.scope].every(isMapOrAbsent) &&
    isIdentityReadable(key) &&
    stringsOf(key.groups) !== null &&
    [key.ttl, token.ttl, spec.overlap].every((one) => secondsOf(one) !== null) &&
    (secondsOf(rotateAfter) ?? 0) >= SHORTEST_ROTATE_AFTER &&
    isAbsent(spec.exchange) &&
    isSecretReadable(fieldsOf(spec.secret))
  )
}

function isSecretReadable({
  name,
  type,
  labels,
  annotations,
  data,
  target,
}: Untyped<ClaimedSecretSpec>): boolean {
  return (
    isEmptyOr(name, isDnsSubdomain) &&
    isEmptyOr(type, (text) => SECRET_TYPES.some((one) => one === text)) &&
    isEmptyOr(target, (text) => TARGET.test(text)) &&
    [labels, annotations, data].every((one) => isAbsent(one) || isMapOfTexts(one))
  )
}

const isEmptyOr = (value: unknown, accepts: (text: string) => boolean): boolean =>
  isAbsent(value) || value === '' || (typeof value === 'string' && accepts(value))

const isMapOfTexts = (value: unknown): boolean =>
  isMap(value) && Object.values(value).every((one) => typeof one === 'string')

const isMapOrAbsent = (value: unknown): boolean => isAbsent(value) || isMap(value)

const isFalseOrAbsent = (value: unknown): boolean => isAbsent(value) || value === false
