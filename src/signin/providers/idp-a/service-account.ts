// A service account of Google: its JSON file, and the tokens that its key obtains (RFC 7523).
import { type CryptoKey, importPKCS8, SignJWT } from 'jose'
import { stringOf } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap } from '../answers.ts'
import type { Outgoing } from '../outgoing.ts'

/** The fields of the file that count. Secret. */
interface ServiceAccount {
  readonly email: string
  /** Signs as the account. */
  readonly key: CryptoKey
  /** null = the file names none. */
  readonly keyId: string | null
  /** Where its tokens are from. */
  readonly tokenUrl: string
}

/** Reads the file. @returns a text where it cannot be used: why, without what is in it */
export async function serviceAccountIn(text: string): Promise<ServiceAccount | string> {
  const fields = boundedJsonMap(Buffer.from(text))
  if (fields?.['type'] !== 'service_account') return 'must be the JSON file of a service account'
  const names = ['client_email', 'private_key', 'token_uri'] as const
  const [email, pem, tokenUrl] = names.map((name) => stringOf(fields[name]) ?? '')
  if (!email || !pem || !tokenUrl) return `has no ${names.find((name) => !stringOf(fields[name]))}`
  try {
    const key = await importPKCS8(pem, 'RS256')
    return { email, key, keyId: stringOf(fields['private_key_id']) ?? null, tokenUrl }
  } catch {
    return 'has a private_key that must be an RSA key in PEM'
  }
}

/** What a token is asked for. */
interface TokenRequest {
  readonly account: ServiceAccount
  /** The person whom the account acts for. */
  readonly subject: string
  readonly scope: string
  readonly nowMs: number
}

/** A token of a service account. */
export interface ServiceToken {
  /** Secret. */
  readonly accessToken: string
  readonly lifetimeMs: number
}

const ASSERTION_SECONDS = 600
const LONGEST_LIFETIME_SECONDS = 3600

/**
 * Obtains a token.
 *
 * @throws SignInRefused `provider_unusable` where the account may not have it, else as the way out does
 */
export async function obtainToken(
  request: TokenRequest,
  send: Outgoing,
  signal: AbortSignal,
): Promise<ServiceToken> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: await assertionOf(request),
  })
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  const call = { url: request.account.tokenUrl, headers, body: Buffer.from(form.toString()) }
  const { status, body } = await send(call, signal)
  const fields = boundedJsonMap(body) ?? {}
  if (status !== 200) throw refusedWith(stringOf(fields['error']))
  const { access_token: accessToken, expires_in: seconds } = fields
  if (typeof accessToken !== 'string' || typeof seconds !== 'number' || !(seconds > 0))
    throw new SignInRefused('provider_answer', 'the token of the service account has another form')
  return { accessToken, lifetimeMs: Math.min(seconds, LONGEST_LIFETIME_SECONDS) * 1000 }
}

async function assertionOf({ account, subject, scope, nowMs }: TokenRequest): Promise<string> {
  const { email, key, keyId, tokenUrl } = account
  const nowSeconds = Math.floor(nowMs / 1000)
  const claims = { iss: email, sub: subject, aud: tokenUrl, scope }
  return new SignJWT({ ...claims, iat: nowSeconds, exp: nowSeconds + ASSERTION_SECONDS })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === null ? {} : { kid: keyId }) })
    .sign(key)
}

/** The codes of OAuth that a log may have. */
const ERROR_CODE = /^[a-z_]{1,64}$/

function refusedWith(code: string | undefined): SignInRefused {
  const said = code !== undefined && ERROR_CODE.test(code) ? `: ${code}` : ''
  return new SignInRefused('provider_unusable', `the service account gets no token${said}`)
}
