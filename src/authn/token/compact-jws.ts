// Reads and verifies the compact JWS of a token. Neither key nor algorithm comes from the token: its kid selects a
// published key, and that key has one algorithm (contract 9.2; threats D1).
import { type CryptoKey, compactVerify, importJWK } from 'jose'
import { type JsonMap, ownValue, parseJsonMap } from '../../domain/json/json.ts'
import { strictJsonError } from '../../domain/json/strict-json.ts'
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import { LONGEST_TOKEN_BYTES } from '../../domain/token/token-claims.ts'

/** A compact JWS, its signature not verified yet. */
export interface DecodedToken {
  readonly token: string
  readonly kid: string
}

/** Why a text is rejected before its signature is checked. */
type MalformedToken = 'malformed' | 'header'

/** A kid is a thumbprint: 32 bytes in base64url. Any other text is the kid of no key. */
const KID = /^[A-Za-z0-9_-]{43}$/

/** Maximum characters of a header in base64url: the operator's has about 110. */
const LONGEST_HEADER = 256

/**
 * Decodes the header of a token. The claims are read only after the signature has been verified: anybody can forge
 * some that are costly to read (threats D5). The header must be as the operator writes it, `alg`, `kid` and `typ: JWT`,
 * nothing else: so `crit`, `b64`, `zip`, `jwk`, `jku`, `x5c` and `x5u` are all refused.
 */
export function decodeToken(token: string): DecodedToken | MalformedToken {
  if (token.length > LONGEST_TOKEN_BYTES) return 'malformed'
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every(isBase64url)) return 'malformed'
  const [first = ''] = parts
  if (first.length > LONGEST_HEADER) return 'header'
  const header = jsonMapIn(first)
  if (header === null) return 'malformed'
  const [alg, kid] = [ownValue(header, 'alg'), ownValue(header, 'kid')]
  const isComplete = Object.keys(header).length === 3 && ownValue(header, 'typ') === 'JWT'
  if (!isComplete || typeof alg !== 'string' || typeof kid !== 'string' || !KID.test(kid))
    return 'header'
  return { token, kid }
}

/** The claims of a token, to be read after its signature was verified; null = they are malformed. */
export const claimsIn = ({ token }: DecodedToken): JsonMap | null =>
  jsonMapIn(token.split('.')[1] ?? '')

/** A public key that verifies signatures of one algorithm. */
export interface VerificationKey {
  readonly alg: PublicJwk['alg']
  readonly key: CryptoKey
}

/** Imports a key that checkJwk has accepted. @throws Error when it can't be imported after all */
export async function verificationKey(jwk: PublicJwk): Promise<VerificationKey> {
  const key = await importJWK({ ...jwk }, jwk.alg)
  if (key instanceof Uint8Array) throw new Error('a public key was imported as a secret')
  return { alg: jwk.alg, key }
}

/** Whether the key has signed the token, with the algorithm of the key. Never rejects. */
export async function verifySignature(
  { alg, key }: VerificationKey,
  { token }: DecodedToken,
): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] })
    return true
  } catch {
    return false
  }
}

/** Whether the text is base64url as RFC 7515 writes it: decoders differ in what else they accept. */
const isBase64url = (text: string): boolean =>
  text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text

function jsonMapIn(part: string): JsonMap | null {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const text = decoder.decode(Buffer.from(part, 'base64url'))
    return strictJsonError(text) === null ? parseJsonMap(text) : null
  } catch {
    return null
  }
}
