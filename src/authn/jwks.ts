// The public signing keys (contract 7.3). One malformed entry makes the whole set unreadable to a kube-apiserver, so
// each key is checked here before it is published or served.
import { createHash, createPublicKey } from 'node:crypto'
import { JWKS_CONFIG_MAP } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { isMap, type Json, type JsonMap, ownValue } from '../domain/json/json.ts'
import { JWKS_DATA_KEY, jwksText } from '../domain/signingkey/published-keys.ts'
import type { PublicJwk } from '../domain/signingkey/signing-key.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import type { Log } from '../runtime/log.ts'

/** A key that may be published, with its public members only, or why it may not be published. */
type CheckedJwk =
  | { readonly ok: true; readonly jwk: PublicJwk }
  | { readonly ok: false; readonly because: string }

/**
 * Checks one key: it must be EC on P-256, or RSA of 2048 to 4096 bits with exponent 65537; alg, use and kid must match
 * the key if they are present. All other members are left out, including private ones (`d`, `p`, `q`, `dp`, `dq`, `qi`,
 * `k`).
 */
export function checkJwk(value: unknown): CheckedJwk {
  if (!isMap(value)) return refusal('is not a JSON object')
  const jwk = ecJwk(value) ?? rsaJwk(value)
  if (!jwk) return refusal('is neither an EC key on P-256 nor an RSA key of 2048 to 4096 bits')
  const checkedMembers = ['kid', 'alg', 'use'] as const
  const mismatch = checkedMembers.find(
    (name) => Object.hasOwn(value, name) && ownValue(value, name) !== jwk[name],
  )
  if (mismatch !== undefined) return refusal(`has the wrong ${mismatch}`)
  return { ok: true, jwk }
}

/** The keys of a JWK Set that can be served, and the faults of the others; or why the text is not a JWK Set. */
type ParsedJwks =
  | { readonly ok: true; readonly jwks: readonly PublicJwk[]; readonly faults: readonly string[] }
  | { readonly ok: false; readonly because: string }

/** Parses a JWK Set. A key without a kid, or with the kid of an earlier key, is a fault too. */
export function parseJwks(text: string | undefined): ParsedJwks {
  const keys = keysOf(text)
  if (!Array.isArray(keys)) return refusal('is not a JWK Set: {"keys": [...]}')
  const jwks = new Map<string, PublicJwk>()
  const faults: string[] = []
  for (const [index, entry] of (keys as readonly Json[]).entries()) {
    const because = addIfValid(jwks, entry)
    if (because !== null) faults.push(`entry ${index} ${because}`)
  }
  return { ok: true, jwks: [...jwks.values()], faults }
}

function addIfValid(jwks: Map<string, PublicJwk>, entry: Json): string | null {
  const checked = checkJwk(entry)
  if (!checked.ok) return checked.because
  const { jwk } = checked
  if (!isMap(entry) || !Object.hasOwn(entry, 'kid')) return 'has no kid'
  if (jwks.has(jwk.kid)) return 'has the kid of another entry'
  jwks.set(jwk.kid, jwk)
  return null
}

/** The published key set, kept up to date by a watch. */
export interface FollowedJwks {
  /** The text to serve, which changes only when a key is added or removed; null = no set has arrived yet. */
  current(): string | null
}

/**
 * Follows the published set, to serve it. Malformed entries are left out. While the set is missing or unreadable, the
 * previous set is served, so that tokens stay verifiable until the operator repairs it.
 *
 * @param configMaps has ConfigMap `platform-jwks`
 * @param namespace the platform namespace
 */
export function followJwks(
  configMaps: Store<FullObject<ConfigMap>>,
  namespace: string,
  log: Log,
): FollowedJwks {
  let current: string | null = null
  const update = (): void => {
    const record = configMaps.get(JWKS_CONFIG_MAP, namespace)
    if (!record) return
    const parsed = parseJwks(record.object.data?.[JWKS_DATA_KEY])
    const faults = parsed.ok ? parsed.faults : [parsed.because]
    if (faults.length > 0) log.error({ faults }, 'published signing keys are not all sound')
    if (parsed.ok) current = jwksText(parsed.jwks)
  }
  configMaps.subscribe(({ name }) => {
    if (name === JWKS_CONFIG_MAP) update()
  })
  update()
  return { current: () => current }
}

function ecJwk(value: JsonMap): PublicJwk | null {
  const [crv, x, y] = [textOf(value, 'crv'), textOf(value, 'x'), textOf(value, 'y')]
  if (textOf(value, 'kty') !== 'EC' || crv !== 'P-256') return null
  if (bytesOf(x)?.length !== 32 || bytesOf(y)?.length !== 32) return null
  const publicMembers = { kty: 'EC', crv, x, y } as const
  // Refuses points that are not on the curve.
  if (!isImportable(publicMembers)) return null
  return { ...publicMembers, kid: thumbprint({ crv, kty: 'EC', x, y }), alg: 'ES256', use: 'sig' }
}

const RSA_BYTES = { min: 2048 / 8, max: 4096 / 8 }
const EXPONENT_65537 = 'AQAB'

function rsaJwk(value: JsonMap): PublicJwk | null {
  const [n, e] = [textOf(value, 'n'), textOf(value, 'e')]
  if (textOf(value, 'kty') !== 'RSA' || e !== EXPONENT_65537) return null
  const modulus = bytesOf(n)
  if (!modulus || modulus.length < RSA_BYTES.min || modulus.length > RSA_BYTES.max) return null
  // With the first bit set, the modulus has 8 bits for each byte; it must be odd, as a product of odd primes.
  const [first = 0, last = 0] = [modulus.at(0), modulus.at(-1)]
  if (first < 0x80 || last % 2 === 0) return null
  const publicMembers = { kty: 'RSA', n, e } as const
  if (!isImportable(publicMembers)) return null
  return { ...publicMembers, kid: thumbprint({ e, kty: 'RSA', n }), alg: 'RS256', use: 'sig' }
}

/** The member if it is a string; else an empty text. */
function textOf(value: JsonMap, name: string): string {
  const member = ownValue(value, name)
  return typeof member === 'string' ? member : ''
}

/** Decodes base64url as in RFC 7515; null for any other text, which other implementations refuse. */
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

/** The RFC 7638 thumbprint. @param publicMembers the required members, sorted by name */
const thumbprint = (publicMembers: JsonMap): string =>
  createHash('sha256').update(JSON.stringify(publicMembers)).digest('base64url')

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
