// The view of an OwnedAccessKey that all decisions use. It holds no secret.
import { CREATED_ANNOTATION, HEARTBEAT_KEY } from '../../api/names.ts'
import type { Condition, KubeObject, ObjectMeta } from '../../api/objects.ts'
import type { OwnedAccessKeySpec, OwnedAccessKeyStatus } from '../../api/ownedaccesskey.gen.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { type CredentialObject, credentialObjectOf } from '../credential-object.ts'
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
import type { LifetimeFields } from './lifetime.ts'

/** The fields of a key's status that our field manager owns; conditions of other managers are left out. */
export interface PublishedKeyStatus {
  readonly expirationTimestamp: string | undefined
  readonly removalTimestamp: string | undefined
  readonly effectiveTTLSeconds: number | undefined
  readonly keyID: string | undefined
  readonly identity: string | undefined
  readonly observedGeneration: number | undefined
  readonly conditions: readonly Condition[]
}

/** A key without its secret. */
export interface AccessKey extends LifetimeFields, CredentialObject {
  /** Also true when a field that limits the key is malformed. */
  readonly isDisabled: boolean
  /** `user:<user>`, `team:<team>` or `subject:<subject>`; null when none or several are set, or one is malformed. */
  readonly identity: string | null
  /** spec.groups: extra groups of the identity. */
  readonly groups: readonly string[]
  /** null = the owner's full rights. */
  readonly scope: Scope | null
  /** SHA-256 of the key in hex, for either form in spec; null when there is no key yet. */
  readonly digest: string | null
  /** spec.key is `sha256:<hex>`: its author may not know the key itself (contract 3.3, 3.6). */
  readonly holdsDigest: boolean
  /** Our field manager owns spec.key: the operator generated it, and repeats it in every apply. */
  readonly isKeyOurs: boolean
  readonly published: PublishedKeyStatus
}

/** An OwnedAccessKey as the API server sends it. */
export type OwnedAccessKeyObject = KubeObject<OwnedAccessKeySpec, OwnedAccessKeyStatus>

/**
 * The view of an object. An empty string counts as absent everywhere in spec (contract 1.2). A value that the schema
 * refuses never throws: the key has no identity, is disabled, or has a scope that grants nothing (10.3).
 *
 * @param digestOf SHA-256 in hex of a key in clear, or what follows `sha256:` (contract 3.6)
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
  return {
    ...credentialObjectOf(metadata),
    isDisabled: isDisabled(spec),
    identity: groups && identityOf(spec),
    groups: groups ?? [],
    scope: scopeOf(spec.scope),
    digest: key === '' ? null : digestOf(key),
    holdsDigest: storedDigestOf(key) !== null,
    isKeyOurs: ownedFieldsOf(metadata.managedFields ?? [], '').has('spec', 'key'),
    ttl: secondsOf(spec.ttl) ?? 0,
    type: stringOf(spec.type) ?? '',
    slides: spec.ttlAfterLastActivity === true,
    creationMs: parseTimestamp(metadata.creationTimestamp) ?? 0,
    firstSeenMs: parseTimestamp(metadata.annotations?.[CREATED_ANNOTATION]),
    lastActivityMs: parseTimestamp(status.lastActivity),
    published: publishedOf(metadata, status),
  }
}

const DIGEST_FORM = /^sha256:([0-9a-f]{64})$/

/** The SHA-256 in hex that spec.key holds instead of a key (contract 3.6); null = it is a key, or none. */
export const storedDigestOf = (key: string): string | null => DIGEST_FORM.exec(key)?.[1] ?? null

/** Id that names the key without showing it (contract 1.5); empty when there is no key yet. */
export const keyIdOf = ({ digest }: AccessKey): string => digest?.slice(0, 16) ?? ''

/**
 * Whether it is the gateways' heartbeat key (contract 10.4). Without a secret it authenticates no request, so the
 * operator does not generate, revoke, expire or count it. With a secret it is a key like any other.
 */
export const isHeartbeatKey = ({ name, digest }: AccessKey): boolean =>
  name === HEARTBEAT_KEY && digest === null

/** Only our fields: an apply of ours can not remove a field of another manager from status. */
function publishedOf(
  { managedFields = [] }: ObjectMeta,
  status: Untyped<OwnedAccessKeyStatus>,
): PublishedKeyStatus {
  const owned = ownedFieldsOf(managedFields, 'status')
  // Only compared with the desired values: a value of another type is different from them.
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

/** Fails closed: a malformed field may be one that limits the key. */
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
  const named = [
    ['user', spec.user],
    ['team', spec.team],
    ['subject', spec.subject],
  ] as const
  if (!named.every(([, name]) => isStringOrAbsent(name))) return null
  const [only, ...others] = named.filter(([, name]) => name)
  return only && others.length === 0 ? only.join(':') : null
}

// The format of an access key (contract 3.2): pak_<43 base62>_<6 base62 of their CRC-32>.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_BYTES = 32
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

/**
 * A key in clear from 32 bytes of a cryptographic random generator.
 *
 * The bytes are one number, written in base 62. 62^43 exceeds 2^256, so each number has its own text and all 256
 * bits of entropy are kept. Digits taken one by one modulo 62 would not be uniform.
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

/** Most significant digit first, padded with 0. */
function base62(number: bigint, length: number): string {
  let rest = number
  let text = ''
  while (text.length < length) {
    text = DIGITS.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
