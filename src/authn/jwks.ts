// The public signing keys (contract 7.3). One odd entry makes the whole set unreadable to a kube-apiserver,
// so each key is checked here before it is published or served.
import { createHash, createPublicKey } from 'node:crypto'
import { JWKS_CONFIG_MAP } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { type Json, type JsonMap, isMap, ownValue } from '../domain/json/json.ts'
import { JWKS_DATA_KEY, jwksText } from '../domain/signingkey/published-keys.ts'
import type { PublicJwk } from '../domain/signingkey/signing-key.ts'
import type { Store, FullObject } from '../kube/informer/store.ts'
import type { Log } from '../runtime/log.ts'

/** A key that may be published, cut down to its public members, or why it may not. */
type CheckedJwk =
  | { readonly ok: true; readonly jwk: PublicJwk }
  | { readonly ok: false; readonly because: string }

/**
 * Checks one key: EC on P-256, or RSA of 2048 to 4096 bits with the exponent 65537; alg, use and kid must
 * match it where it has them. All other members are left out, the private ones (`d`, `p`, `q`, `dp`, `dq`,
 * `qi`, `k`) among them.
 */
export function checkJwk(value: unknown): CheckedJwk {
  if (!isMap(value)) return refusal('is no JSON object')
  const jwk = ecJwk(value) ?? rsaJwk(value)
  if (!jwk) return refusal('is neither an EC key on P-256 nor an RSA key of 2048 to 4096 bits')
  const named = ['kid', 'alg', 'use'] as const
  const wrong = named.find(
    (name) => Object.hasOwn(value, name) && ownValue(value, name) !== jwk[name],
  )
  if (wrong !== undefined) return refusal(`has the wrong ${wrong}`)
  return { ok: true, jwk }
}

/** The keys of a JWK Set that can be served, and the faults of the others; or why it is no JWK Set. */
type ParsedJwks =
  | { readonly ok: true; readonly jwks: readonly PublicJwk[]; readonly faults: readonly string[] }
  | { readonly ok: false; readonly because: string }

/** Reads a JWK Set. A key without a kid, or with the kid of an earlier one, is a fault as well. */
export function parseJwks(text: string | undefined): ParsedJwks {
  const keys = keysOf(text)
  if (!Array.isArray(keys)) return refusal('is no JWK Set: {"keys": [...]}')
  const jwks = new Map<string, PublicJwk>()
  const faults: string[] = []
  for (const [place, entry] of (keys as readonly Json[]).entries()) {
    const because = addChecked(jwks, entry)
    if (because !== null) faults.push(`entry ${place} ${because}`)
  }
  return { ok: true, jwks: [...jwks.values()], faults }
}

function addChecked(jwks: Map<string, PublicJwk>, entry: Json): string | null {
  const checked = checkJwk(entry)
  if (!checked.ok) return checked.because
  const { jwk } = checked
  if (!isMap(entry) || !Object.hasOwn(entry, 'kid')) return 'has no kid'
  if (jwks.has(jwk.kid)) return 'is there twice'
  jwks.set(jwk.kid, jwk)
  return null
}

/** The published key set, kept current by a watch. */
export interface FollowedJwks {
  /** The text to serve, the same until a key is added or removed; null = no set has arrived yet. */
  current(): string | null
}

/**
 * Follows the published set, to serve it. Entries that would make it unreadable are left out. A set that is
 * gone or unreadable changes nothing: tokens stay verifiable while the operator repairs it.
 *
 * @param records holds ConfigMap `platform-jwks`
 * @param namespace the platform namespace
 */
export function followJwks(
  records: Store<FullObject<ConfigMap>>,
  namespace: string,
  log: Log,
): FollowedJwks {
  let current: string | null = null
  const read = (): void => {
    const record = records.get(JWKS_CONFIG_MAP, namespace)
    if (!record) return
    const parsed = parseJwks(record.object.data?.[JWKS_DATA_KEY])
    const faults = parsed.ok ? parsed.faults : [parsed.because]
    if (faults.length > 0) log.error({ faults }, 'published signing keys are not all sound')
    if (parsed.ok) current = jwksText(parsed.jwks)
  }
  records.subscribe(({ name }) => {
    if (name === JWKS_CONFIG_MAP) read()
  })
  read()
  return { current: () => current }
}

function ecJwk(value: JsonMap): PublicJwk | null {
  const [crv, x, y] = [textOf(value, 'crv'), textOf(value, 'x'), textOf(value, 'y')]
  if (textOf(value, 'kty') !== 'EC' || crv !== 'P-256') return null
  if (bytesOf(x)?.length !== 32 || bytesOf(y)?.length !== 32) return null
  const members = { kty: 'EC', crv, x, y } as const
  // Refuses a point that is not on the curve.
  if (!isImportable(members)) return null
  return { ...members, kid: thumbprint({ crv, kty: 'EC', x, y }), alg: 'ES256', use: 'sig' }
}

const RSA_BYTES = { least: 2048 / 8, most: 4096 / 8 }
const EXPONENT_65537 = 'AQAB'

function rsaJwk(value: JsonMap): PublicJwk | null {
  const [n, e] = [textOf(value, 'n'), textOf(value, 'e')]
  if (textOf(value, 'kty') !== 'RSA' || e !== EXPONENT_65537) return null
  const modulus = bytesOf(n)
  if (!modulus || modulus.length < RSA_BYTES.least || modulus.length > RSA_BYTES.most) return null
  // With the first bit set, the length in bits is that in bytes; an even modulus is no product of odd primes.
  const [first = 0, last = 0] = [modulus.at(0), modulus.at(-1)]
  if (first < 0x80 || last % 2 === 0) return null
  const members = { kty: 'RSA', n, e } as const
  if (!isImportable(members)) return null
  return { ...members, kid: thumbprint({ e, kty: 'RSA', n }), alg: 'RS256', use: 'sig' }
}

/** The member where it is a string, else an empty one. */
function textOf(value: JsonMap, name: string): string {
  const member = ownValue(value, name)
  return typeof member === 'string' ? member : ''
}

/** The bytes of base64url as in RFC 7515; null for other text, which other implementations refuse. */
function bytesOf(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

function isImportable(key: Readonly<Record<string, string>>): boolean {
  try {
    createPublicKey({ key, format: 'jwk' })
    return true
  } catch {
    return false
  }
}

/** RFC 7638. @param members the required ones, in the order of their names */
const thumbprint = (members: JsonMap): string =>
  createHash('sha256').update(JSON.stringify(members)).digest('base64url')

function keysOf(text: string | undefined): Json | undefined {
  try {
    const set: unknown = JSON.parse(text ?? '')
    return isMap(set) ? ownValue(set, 'keys') : undefined
  } catch {
    return undefined
  }
}

const refusal = (because: string): { readonly ok: false; readonly because: string } => ({
  ok: false,
  because,
})
