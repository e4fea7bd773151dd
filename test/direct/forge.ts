// Tokens as an attacker, or a careless issuer, would make them: any header, any claims, any signature.
import { createHmac, type KeyObject, sign } from 'node:crypto'

/** A private key under the name that its tokens carry. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** Members by name; `undefined` takes one away. */
export type Members = Readonly<Record<string, unknown>>

/** Signs what stands before the second dot; the result is base64url. */
export type Signer = (text: string) => string

/** Signs with ES256. */
export const es256 =
  ({ privateKey }: Pick<SigningKey, 'privateKey'>): Signer =>
  (text) =>
    sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
      'base64url',
    )

/** Signs with EdDSA. */
export const eddsa =
  (privateKey: KeyObject): Signer =>
  (text) =>
    sign(null, Buffer.from(text), privateKey).toString('base64url')

/** Signs with HS256. */
export const hs256 =
  (secret: string): Signer =>
  (text) =>
    createHmac('sha256', secret).update(text).digest('base64url')

/** A token by that key, as it should be but for what is given. */
export function forge(
  key: SigningKey,
  claims: Members,
  {
    header = {},
    signer = es256(key),
  }: { readonly header?: Members; readonly signer?: Signer } = {},
): string {
  const protectedHeader = { alg: 'ES256', typ: 'JWT', kid: key.kid, ...header }
  const text = `${base64url(protectedHeader)}.${base64url(claims)}`
  return `${text}.${signer(text)}`
}

/** The claims of a token, unverified. */
export function claimsIn(token: string): Members {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Members
}

function base64url(members: Members): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}
