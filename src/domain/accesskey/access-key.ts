// Parses an OwnedAccessKey into the form that all decisions use, which has no secret; and formats new keys.
import {
  CLAIM_LABEL,
  CREATED_ANNOTATION,
  HEARTBEAT_NAME,
  IDENTITY_GONE_ANNOTATION,
  RESERVED_MANAGERS,
} from '../../api/names.ts'
import type { Condition, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../api/objects.ts'
import type { OwnedAccessKeySpec, OwnedAccessKeyStatus } from '../../api/ownedaccesskey.gen.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { type CredentialObject, credentialObjectOf } from '../shared-metadata.ts'
import {
  type Untyped,
  fieldsOf,
  isAbsent,
  isStringOrAbsent,
  scopeOf,
  secondsOf,
  stringOf,
  stringsOf,
} from '../json/json.ts'
import { ownedFieldsOf, ownedStatusField } from '../managed-fields.ts'
import { parseTimestamp } from '../time.ts'
import type { IdentityFields } from '../people/people.ts'
import type { LifetimeFields } from './lifetime.ts'

/** The fields of a key's status that our field manager owns, without conditions of other managers. */
export interface PublishedKeyStatus {
  readonly expirationTimestamp: string | undefined
  readonly removalTimestamp: string | undefined
  readonly effectiveTTLSeconds: number | undefined
  readonly keyID: string | undefined
  readonly identity: string | undefined
  readonly observedGeneration: number | undefined
  readonly conditions: readonly Condition[]
}

/** An access key without its secret. */
export interface AccessKey extends LifetimeFields, IdentityFields, CredentialObject {
  /** Whether spec disables the key; also true when a field that limits the key is malformed. */
  readonly isDisabled: boolean
  /** spec.groups: extra groups of the identity. */
  readonly groups: readonly string[]
  /** null = the owner's full rights. */
  readonly scope: Scope | null
  /** SHA-256 of the key in hex, whether spec has the key or its digest; null when there is no key yet. */
  readonly digest: string | null
  /** Whether spec.key is `sha256:<hex>`: whoever wrote it need not know the key itself (contract 3.3, 3.6). */
  readonly holdsDigest: boolean
  /**
   * Whether our field manager owns spec.key: the operator generated the key, and every apply of the operator has it.
   */
  readonly isKeyOurs: boolean
  /** Whether no field manager of the platform has written it: a gateway that creates a key claims fields right after. */
  readonly isUnclaimed: boolean
  /** Whether it was made for an AccessKeyClaim, which makes another in its place (contract 28.3). */
  readonly isOfClaim: boolean
  readonly published: PublishedKeyStatus
}

/** Types of keys for one purpose each. */
const OTHER_PURPOSES: ReadonlySet<string> = new Set(['OIDCRefreshToken', 'Reset'])

/** Whether keys of the type are bearer credentials (contract 1.3); as a bearer token the others count as unknown. */
export const isBearerType = (type: string): boolean => !OTHER_PURPOSES.has(type)

/** An OwnedAccessKey as the API server sends it. */
export type OwnedAccessKeyObject = KubeObject<OwnedAccessKeySpec, OwnedAccessKeyStatus>

/**
 * Parses an object. An empty string in spec counts as absent (contract 1.2). Never throws: a key with a value that the
 * schema refuses has no identity, is disabled, or has a scope that grants nothing (10.3).
 *
 * @param digestOf returns the SHA-256 in hex of a key in clear, or the digest after `sha256:` (contract 3.6)
 */
export function accessKeyOf(
  object: OwnedAccessKeyObject,
  digestOf: (key: string) => string,
): AccessKey {
  const { metadata } = object
  const spec: Untyped<OwnedAccessKeySpec> = fieldsOf(object.spec)
  const status: Untyped<OwnedAccessKeyStatus> = fieldsOf(object.status)
  const key = stringOf(spec.key) ?? ''
  const groups = stringsOf(spec.groups)
  const { managedFields = [] } = metadata
  return {
    ...credentialObjectOf(metadata),
    isDisabled: isDisabled(spec),
    identity: groups && identityOf(spec),
    groups: groups ?? [],
    identityGone: identityGoneOf(metadata),
    refreshedMs: refreshedMsOf(spec),
    scope: scopeOf(spec.scope),
    digest: key === '' ? null : digestOf(key),
    holdsDigest: storedDigestOf(key) !== null,
    isKeyOurs: ownedFieldsOf(managedFields, '').has('spec', 'key'),
    isOfClaim: Object.hasOwn(metadata.labels ?? {}, CLAIM_LABEL),
    isUnclaimed: managedFields.length > 0 && !managedFields.some(isOfPlatform),
    ttl: secondsOf(spec.ttl) ?? 0,
    type: stringOf(spec.type) ?? '',
    slides: spec.ttlAfterLastActivity === true,
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    firstSeenMs: parseTimestamp(metadata.annotations?.[CREATED_ANNOTATION]),
    lastActivityMs: parseTimestamp(status.lastActivity),
    published: publishedOf(metadata, status),
  }
}

const isOfPlatform = ({ manager }: ManagedFieldsEntry): boolean =>
  RESERVED_MANAGERS.includes(manager ?? '')

/** Fails closed: an annotation with any other text says the worse. */
function identityGoneOf({ annotations = {} }: ObjectMeta): AccessKey['identityGone'] {
  const text: unknown = annotations[IDENTITY_GONE_ANNOTATION]
  if (isAbsent(text)) return null
  return stringOf(text)?.endsWith(' SignInAgain') ? 'SignInAgain' : 'IdentityGone'
}

function refreshedMsOf({ type, identityRefresh }: Untyped<OwnedAccessKeySpec>): number | null {
  if (type !== 'Login' || isAbsent(identityRefresh) || identityRefresh === '') return null
  return parseTimestamp(stringOf(identityRefresh)) ?? 0
}

const DIGEST_FORM = /^sha256:([0-9a-f]{64})$/

/** The SHA-256 in hex if spec.key has a digest instead of a key (contract 3.6); null = it has a key, or is empty. */
export const storedDigestOf = (key: string): string | null => DIGEST_FORM.exec(key)?.[1] ?? null

/** The key ID, which identifies the key without revealing it (contract 1.5); empty when there is no key yet. */
export const keyIdOf = ({ digest }: AccessKey): string => digest?.slice(0, 16) ?? ''

/**
 * Whether the object is the heartbeat key of the gateways (contract 10.4). Without a secret it authenticates no
 * request, so the operator does not generate, revoke, expire or count it. With a secret it is an ordinary key.
 */
export const isHeartbeatKey = ({ name, digest }: AccessKey): boolean =>
  name === HEARTBEAT_NAME && digest === null

/** Reads only our fields: our apply cannot remove a field of another manager from status. */
function publishedOf(
  { managedFields = [] }: ObjectMeta,
  status: Untyped<OwnedAccessKeyStatus>,
): PublishedKeyStatus {
  const owned = ownedFieldsOf(managedFields, 'status')
  // The cast is safe: the values are only compared with desired ones, and a wrong type is a difference.
  const ours = ownedStatusField(owned, status as OwnedAccessKeyStatus)
  return {
    expirationTimestamp: ours('expirationTimestamp'),
    removalTimestamp: ours('removalTimestamp'),
    effectiveTTLSeconds: ours('effectiveTTLSeconds'),
    keyID: ours('keyID'),
    identity: ours('identity'),
    observedGeneration: ours('observedGeneration'),
    conditions: owned.conditions(status.conditions),
  }
}

/** Fails closed: a malformed field counts as disabled, because it may limit the key. */
const isDisabled = ({
  disabled,
  ttl,
  type,
  ttlAfterLastActivity,
}: Untyped<OwnedAccessKeySpec>): boolean =>
  !(isAbsent(disabled) || disabled === false) ||
  secondsOf(ttl) === null ||
  !isStringOrAbsent(type) ||
  !(isAbsent(ttlAfterLastActivity) || typeof ttlAfterLastActivity === 'boolean')

function identityOf(spec: Untyped<OwnedAccessKeySpec>): string | null {
  const candidates = [
    ['user', spec.user],
    ['team', spec.team],
    ['subject', spec.subject],
  ] as const
  if (!candidates.every(([, name]) => isStringOrAbsent(name))) return null
  const [first, ...others] = candidates.filter(([, name]) => name)
  return first && others.length === 0 ? first.join(':') : null
}

// The format of an access key (contract 3.2): pak_<43 base62>_<6 base62 of their CRC-32>.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_BYTES = 32
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

/**
 * A key in clear from 32 bytes of a cryptographic random generator.
 *
 * Writes the bytes as one number in base 62: 62^43 exceeds 2^256, so all 256 bits of entropy are kept. Taking each
 * byte modulo 62 would not be uniform.
 *
 * @param crc32 CRC-32 as in IEEE 802.3, gzip and PNG, unsigned: crc32 of node:zlib
 * @throws RangeError unless there are 32 bytes
 */
export function formatAccessKey(randomBytes: Uint8Array, crc32: (text: string) => number): string {
  if (randomBytes.length !== RANDOM_BYTES)
    throw new RangeError(`a key is made of ${RANDOM_BYTES} random bytes`)
  const secret = base62(numberOf(randomBytes), SECRET_LENGTH)
  return `pak_${secret}_${base62(BigInt(crc32(secret)), CHECKSUM_LENGTH)}`
}

const numberOf = (bytes: Uint8Array): bigint =>
  bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n)

/** Writes a number in base 62, most significant digit first, padded with 0. */
function base62(number: bigint, length: number): string {
  let rest = number
  let text = ''
  while (text.length < length) {
    text = DIGITS.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
