// The code of a callback for a token (contract 25.6 "sourceHostA"). GitHub answers an error with 200.
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJsonMap, refusedBy, tokenRefusal } from '../answers.ts'
import { formCall } from '../outgoing.ts'
import type { AttemptSecrets, ProviderCallback } from '../provider.ts'
import type { SourceHostASetup } from './setup.ts'

/** The codes of a token endpoint that doubts the client, not the person. */
const CLIENT_ERRORS = [
  'incorrect_client_credentials',
  'invalid_client',
  'redirect_uri_mismatch',
  'unauthorized_client',
]

const ENDPOINT = 'token endpoint'

/** The access token for the code of a callback. @throws SignInRefused */
export async function exchangeCode(
  setup: SourceHostASetup,
  { parameters }: ProviderCallback,
  secrets: Pick<AttemptSecrets, 'state' | 'verifier'>,
  signal: AbortSignal,
): Promise<string> {
  if (parameters.get('state') !== secrets.state)
    throw new SignInRefused('provider_answer', 'state of the callback')
  if (parameters.has('error')) throw refusedBy('authorization endpoint', parameters.get('error'))
  const code = parameters.get('code')
  if (!code) throw new SignInRefused('provider_answer', 'the callback has no code')
  return tokenIn(await askForToken(setup, { code, verifier: secrets.verifier }, signal))
}

async function askForToken(
  { addresses, clientId, clientSecret, redirectURI, send }: SourceHostASetup,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  signal: AbortSignal,
): Promise<JsonMap> {
  const call = formCall(`${addresses.site}/login/oauth/access_token`, {
    grant_type: 'authorization_code',
    client_id: clientId,
    client_secret: clientSecret,
    code,
    redirect_uri: redirectURI,
    code_verifier: verifier,
  })
  const { status, body } = await send(call, signal)
  if (status === 404)
    throw new SignInRefused(
      'provider_unusable',
      `the ${ENDPOINT} answered 404, as for a clientId that it does not know`,
    )
  const fields = boundedJsonMap(body)
  if (fields === null || (status !== 200 && !('error' in fields)))
    throw new SignInRefused('provider_answer', `the ${ENDPOINT} answered ${status} without fields`)
  return fields
}

/** A token that can stand in a header. */
const TOKEN = /^[!-~]{1,4096}$/

function tokenIn({ error, access_token: token, token_type: type }: JsonMap): string {
  if (error !== undefined) throw tokenRefusal(error, CLIENT_ERRORS)
  const isBearer = typeof type === 'string' && type.toLowerCase() === 'bearer'
  if (typeof token === 'string' && TOKEN.test(token) && isBearer) return token
  throw new SignInRefused('provider_answer', `the ${ENDPOINT} gave no bearer token`)
}
