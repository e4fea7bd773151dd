// The tokens that apps get (contract 26.3): what they say, signed and verified. Issuer and claim `token_use` tell them from
// tokens for clusters.
import { hash } from 'node:crypto'
import { SignJWT, jwtVerify } from 'jose'
import { stringOf } from '../../domain/json/json.ts'
import { APP_ACCESS_TOKEN_TYPE } from '../../domain/signin/app-routes.ts'
import { type AppSigningKeys, publishedKeys, signerOf } from './signing-keys.ts'

/** How long ID and access tokens live, in seconds. */
export const TOKEN_SECONDS = 900

/** The value of claim `token_use`. */
const TOKEN_USE = 'app'

/** Who signs, and when. */
export interface TokenIssue {
  readonly issuer: string
  readonly keys: AppSigningKeys
  readonly nowMs: number
}

/** For whom a token is. */
interface TokenHolder {
  /** uid of the User: a name is free again once its User is gone. */
  readonly subject: string
  readonly clientId: string
}

/** What an access token lets its holder ask. */
export interface AccessToken extends TokenHolder {
  /** Name of the grant that it came from. */
  readonly grant: string
  readonly scopes: readonly string[]
}

/** What an ID token says beside the claims of the person. */
interface IdToken extends TokenHolder {
  /** When the person signed in, in epoch milliseconds. */
  readonly authMs: number
  /** null = the request had none. */
  readonly nonce: string | null
  readonly accessToken: string
  /** Claims of the person, by scope. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** Signs an access token. @param id in no other token */
export const signAccessToken = (
  { subject, clientId, grant, scopes }: AccessToken,
  id: string,
  issue: TokenIssue,
): Promise<string> => {
  const claims = { client_id: clientId, scope: scopes.join(' '), grant, jti: id }
  return sign(claims, { subject, clientId, type: APP_ACCESS_TOKEN_TYPE }, issue)
}

/** Signs an ID token. */
export const signIdToken = (
  { subject, clientId, authMs, nonce, accessToken, claims }: IdToken,
  issue: TokenIssue,
): Promise<string> => {
  const own = {
    ...claims,
    azp: clientId,
    auth_time: Math.floor(authMs / 1000),
    at_hash: hash('sha256', accessToken, 'buffer').subarray(0, 16).toString('base64url'),
    ...(nonce === null ? {} : { nonce }),
  }
  return sign(own, { subject, clientId, type: 'JWT' }, issue)
}

function sign(
  claims: Readonly<Record<string, unknown>>,
  { subject, clientId, type }: TokenHolder & { readonly type: string },
  { issuer, keys, nowMs }: TokenIssue,
): Promise<string> {
  const { publicKey, privateKey } = signerOf(keys, nowMs)
  const seconds = Math.floor(nowMs / 1000)
  return (
    new SignJWT({ ...claims, token_use: TOKEN_USE })
      // In this order: the gateway knows an access token by how it begins (APP_ACCESS_TOKEN).
      .setProtectedHeader({ alg: publicKey.alg, typ: type, kid: publicKey.kid })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(clientId)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + TOKEN_SECONDS)
      .sign(privateKey)
  )
}

/** Reads an access token; null = it is none of this issuer, was changed, or has ended. */
export async function verifyAccessToken(
  token: string,
  { issuer, keys, nowMs }: TokenIssue,
): Promise<AccessToken | null> {
  const shown = publishedKeys(keys, nowMs)
  try {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const found = shown.find(({ publicKey }) => publicKey.kid === kid)
        if (found === undefined) throw new Error('no key has this kid')
        return found.publicKey
      },
      { issuer, algorithms: ['ES256'], typ: APP_ACCESS_TOKEN_TYPE, currentDate: new Date(nowMs) },
    )
    const { sub, client_id: clientId, grant, scope, exp, token_use: use } = payload
    const texts = [sub, clientId, grant, scope].map(stringOf)
    const [subject, id, name, scopes] = texts
    if (!subject || !id || !name || !scopes || exp === undefined || use !== TOKEN_USE) return null
    return { subject, clientId: id, grant: name, scopes: scopes.split(' ') }
  } catch {
    return null
  }
}
