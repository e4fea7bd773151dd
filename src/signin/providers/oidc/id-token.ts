// The checks of an ID token that openid-client leaves to its user (contract 25.6): the algorithms, `azp` beside one audience,
// `iat` in the future, `at_hash`.
import { hash } from 'node:crypto'
import type { JsonMap } from '../../../domain/json/json.ts'
import { boundedJsonMap } from '../answers.ts'

/** The algorithms that a signature may have, each with the digest of its at_hash. `Ed25519` is EdDSA by its newer name. */
const DIGESTS: Readonly<Record<string, 'sha256' | 'sha384' | 'sha512'>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  PS256: 'sha256',
  PS384: 'sha384',
  PS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
  EdDSA: 'sha512',
  Ed25519: 'sha512',
}

/** The algorithms that a signature may have. */
export const ALGORITHMS: readonly string[] = Object.keys(DIGESTS)

/** What a token says that is not verified yet. */
export interface UnverifiedToken {
  readonly algorithm: string
  /** null = the token names no key. */
  readonly keyId: string | null
  readonly claims: JsonMap
}

/** Maximum size of a token, in characters: it is kept in a Secret with others. */
const LONGEST_TOKEN = 65_536

/** Whether a token, if there is one, is small enough to be kept. */
export const isStorable = (token: string | null): boolean => (token?.length ?? 0) <= LONGEST_TOKEN

/** Reads a token whose signature can be checked; null = the text has another form, or exceeds the bounds. */
export function unverifiedToken(token: string): UnverifiedToken | null {
  if (!isStorable(token)) return null
  const [header, claims, , ...more] = token.split('.').map(partOf)
  const { alg, kid } = header ?? {}
  if (!header || !claims || more.length > 0 || typeof alg !== 'string') return null
  if (!Object.hasOwn(DIGESTS, alg)) return null
  return { algorithm: alg, keyId: typeof kid === 'string' ? kid : null, claims }
}

const partOf = (part: string): JsonMap | null => boundedJsonMap(Buffer.from(part, 'base64url'))

/** Tolerated difference of the clocks, in seconds. */
export const TOLERANCE_SECONDS = 30

/** What the claims of an ID token are compared with. */
interface ExpectedToken {
  readonly clientId: string
  /** Of the token. */
  readonly algorithm: string
  /** That came with the token. */
  readonly accessToken: string
  readonly nowMs: number
}

/** The claim of a verified ID token that is wrong; null = none is. */
export function wrongClaim(claims: JsonMap, expected: ExpectedToken): string | null {
  const { azp, iat, at_hash: accessTokenHash } = claims
  if (azp !== undefined && azp !== expected.clientId) return 'azp'
  if (typeof iat !== 'number' || iat > expected.nowMs / 1000 + TOLERANCE_SECONDS) return 'iat'
  const isOfAccessToken =
    accessTokenHash === undefined ||
    accessTokenHash === halfHash(expected.accessToken, expected.algorithm)
  return isOfAccessToken ? null : 'at_hash'
}

/** The left half of the digest (OpenID Connect Core 3.1.3.6). */
function halfHash(text: string, algorithm: string): string {
  const digest = hash(DIGESTS[algorithm] ?? 'sha256', text, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}
