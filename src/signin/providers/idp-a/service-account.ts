// A service account of Google: its JSON file, and the tokens that its key obtains (RFC 7523).
import { type CryptoKey, importPKCS8, SignJWT } from 'jose'
import { stringOf } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap, shownCode } from '../answers.ts'
import { formCall, type Outgoing } from '../outgoing.ts'

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
  const key = await importPKCS8(pem, 'RS256').catch(() => null)
  return key === null || rsaBits(key) < LEAST_RSA_BITS
    ? `has a private_key that must be an RSA key of ${LEAST_RSA_BITS} bits or more in PEM`
    : { email, key, keyId: stringOf(fields['private_key_id']) ?? null, tokenUrl }
}

/** No algorithm signs with fewer (RFC 7518 3.3). */
const LEAST_RSA_BITS = 2048

const rsaBits = ({ algorithm }: CryptoKey): number =>
  (algorithm as { readonly modulusLength?: number }).modulusLength ?? 0

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
  const call = formCall(request.account.tokenUrl, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: await assertionOf(request),
  })
  const { status, body } = await send(call, signal)
  const fields = boundedJsonMap(body) ?? {}
  if (status !== 200) throw refusedWith(fields['error'])
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

function refusedWith(error: unknown): SignInRefused {
  const code = shownCode(error)
  const said = code === null ? '' : `: ${code}`
  return new SignInRefused('provider_unusable', `the service account gets no token${said}`)
}
