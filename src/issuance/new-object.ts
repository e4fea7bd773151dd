// How an object of a key or a token is made (contract 12.2, 12.3): its defaults, the fields that tie it to the key that
// makes it, and its finalizer. Callers decide who may ask for it.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  ACCESS_KEYS,
  API_VERSION,
  CREATED_ANNOTATION,
  MADE_WITH_LABEL,
  REVOKE_FINALIZER,
  type Resource,
  TOKENS,
} from '../api/names.ts'
import type { Scope } from '../api/scope.gen.ts'
import { formatAccessKey } from '../domain/accesskey/access-key.ts'
import {
  nestedField,
  nestedString,
  nestedStringSlice,
  setNestedField,
} from '../domain/json/field-path.ts'
import type { Json, JsonMap } from '../domain/json/json.ts'
import { KEY } from '../domain/redaction/fields.ts'
import type { KeyRef } from '../domain/shared-metadata.ts'
import { type ClaimedObject, type Field, withClaimed } from './claim.ts'

/** The key that makes another key. */
interface IssuingKey {
  readonly ref: KeyRef
  /** Whether a person acts with it: then the new key is independent of it. Otherwise it owns and limits the new key. */
  readonly isPerson: boolean
  /** null = unrestricted. */
  readonly scope: Scope | null
}

/** Options of newKeyObject. */
interface NewKeyOptions {
  /** The object as the client sent it. Its own values win over defaults. */
  readonly sent: JsonMap
  /** Generates a key in clear. */
  readonly newKey: () => string
  /** null = the new key is not tied to another, as a key for another user. */
  readonly issuer: IssuingKey | null
}

/** Generates a key in clear. */
export const generateKey = (): string => formatAccessKey(randomBytes(32), crc32)

/**
 * A new OwnedAccessKey, with the finalizer by which its tokens are revoked.
 *
 * @param user the user of a key that names no user, team or subject; null = there is no such default
 */
export function newKeyObject(
  user: string | null,
  { sent, newKey, issuer }: NewKeyOptions,
): ClaimedObject {
  const namesOther = ['team', 'subject'].some((name) => !isEmpty(nestedField(sent, ['spec', name])))
  const identity: readonly Field[] = user === null || namesOther ? [] : [[['spec', 'user'], user]]
  const fields = [...identity, [KEY, newKey()] as const, ...(issuer ? fieldsOfIssuer(issuer) : [])]
  return withRevokeFinalizer(withDefaults(ACCESS_KEYS, sent, fields))
}

/** A new DirectClusterEndpointToken, owned by this key. The manager adds its finalizer. */
export const newTokenObject = (sent: JsonMap, owner: KeyRef): ClaimedObject =>
  withDefaults(TOKENS, sent, [[OWNER_REFERENCES, [ownerReferenceTo(owner)]]])

/** The controller reference to a key: the object is deleted with the key. */
export const ownerReferenceTo = ({ name, uid }: KeyRef): JsonMap => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name,
  uid,
  controller: true,
})

/** The labels of a key that was made with this one: they find everything that a leaked key has made. */
export const madeWithLabels = ({ uid }: KeyRef): Readonly<Record<string, string>> => ({
  [MADE_WITH_LABEL]: uid,
})

/**
 * The key with the start of its lifetime (contract 2.8), unless it has one.
 *
 * @param createdAt RFC 3339
 */
export function withCreation(key: ClaimedObject, createdAt: string): ClaimedObject {
  const path = ['metadata', 'annotations', CREATED_ANNOTATION]
  return nestedField(key.object, path) ? key : withClaimed(key, [path, createdAt])
}

/** The key with this ttl in seconds, unless it has one. */
export function withTtl(key: ClaimedObject, ttlSeconds: number): ClaimedObject {
  const path = ['spec', 'ttl']
  return nestedField(key.object, path) ? key : withClaimed(key, [path, ttlSeconds])
}

const OWNER_REFERENCES = ['metadata', 'ownerReferences']
const FINALIZERS = ['metadata', 'finalizers']

/** The fields that tie a new key to the key that makes it. */
function fieldsOfIssuer({ ref, isPerson, scope }: IssuingKey): readonly Field[] {
  const labels = Object.entries(madeWithLabels(ref)).map(
    ([name, value]): Field => [['metadata', 'labels', name], value],
  )
  if (isPerson) return labels
  const limits: readonly Field[] =
    scope === null ? [] : [[['spec', 'scope'], scope as unknown as Json]]
  return [
    [['spec', 'type'], 'User'],
    ...limits,
    ...labels,
    [OWNER_REFERENCES, [ownerReferenceTo(ref)]],
  ]
}

/** The generateName of an object without a name, by plural. */
const NAME_PREFIXES: Readonly<Record<string, string>> = {
  [ACCESS_KEYS.plural]: 'key-',
  [TOKENS.plural]: 'token-',
}

/** The object without a status, with what the API server requires, and with each field that the client left empty. */
function withDefaults(resource: Resource, sent: JsonMap, fields: readonly Field[]): ClaimedObject {
  const isNamed = ['name', 'generateName'].some(
    (name) => nestedString(sent, ['metadata', name]) !== '',
  )
  const required: readonly Field[] = [
    [['apiVersion'], API_VERSION],
    [['kind'], resource.kind],
    [['spec'], {}],
    ...(isNamed
      ? []
      : [[['metadata', 'generateName'], NAME_PREFIXES[resource.plural] ?? ''] as const]),
  ]
  const complete = required.reduce(
    (whole, [path, value]) =>
      nestedField(whole, path) === undefined ? setNestedField(whole, path, value) : whole,
    sent,
  )
  const start = { object: setNestedField(complete, ['status'], undefined), claimed: {} }
  return fields.filter(([path]) => isEmpty(nestedField(sent, path))).reduce(withClaimed, start)
}

/** An empty text or list equals absent (contract 1.2), and the API server drops nulls. */
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** Adds the finalizer, and claims it without the finalizers that the client sent. */
function withRevokeFinalizer({ object, claimed }: ClaimedObject): ClaimedObject {
  const all = new Set([...nestedStringSlice(object, FINALIZERS), REVOKE_FINALIZER])
  return {
    object: setNestedField(object, FINALIZERS, [...all]),
    claimed: setNestedField(claimed, FINALIZERS, [REVOKE_FINALIZER]),
  }
}
