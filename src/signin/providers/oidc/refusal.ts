// Why a sign-in is refused, by the errors of openid-client. Their messages and causes may quote the provider, so only their
// types, codes and the names of claims are read.
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { refusedBy, tokenRefusal } from '../answers.ts'

/** The codes of a token endpoint that doubts the client, not the person. */
const CLIENT_ERRORS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type']

/** The refusal for an error of openid-client. */
export function refusalOf(error: unknown): SignInRefused {
  const own = causeOf(error, SignInRefused)
  if (own) return own
  if (error instanceof AuthorizationResponseError)
    return refusedBy('authorization endpoint', error.error)
  if (error instanceof ResponseBodyError) return tokenRefusal(error.error, CLIENT_ERRORS)
  return new SignInRefused('provider_answer', `an answer of the provider: ${faultOf(error)}`)
}

/** The error of a class of ours in an error of openid-client, which wraps them; null = there is none. */
export function causeOf<T extends Error>(
  error: unknown,
  kind: abstract new (...args: never[]) => T,
): T | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; depth += 1) {
    if (cause instanceof kind) return cause
    cause = cause.cause
  }
  return null
}

/** What openid-client finds wrong, by its codes. */
const FAULTS: Readonly<Record<string, string>> = {
  OAUTH_INVALID_RESPONSE: 'a signature, claim or field is wrong or absent',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'a field has another value',
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'a claim has another value',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'a time is past or ahead',
  OAUTH_KEY_SELECTION_FAILED: 'none of its keys fits, or several do',
  OAUTH_MISSING_SERVER_METADATA: 'the discovery document lacks an endpoint',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'an answer has another status',
  OAUTH_UNSUPPORTED_OPERATION: 'it demands what is not supported',
}

/** The names that openid-client has for what it compared; a provider chooses none of them. */
const COMPARED = /^[a-z_]{1,32}$/

/** What was wrong, such as `a claim has another value: nonce`. */
function faultOf(error: unknown): string {
  const { code = '', cause } = error instanceof ClientError ? error : {}
  const details = cause instanceof Error ? cause.cause : undefined
  const { claim, attribute } = (details ?? {}) as { claim?: unknown; attribute?: unknown }
  const compared = claim ?? attribute
  const fault = FAULTS[code] ?? 'it has another form'
  return typeof compared === 'string' && COMPARED.test(compared) ? `${fault}: ${compared}` : fault
}
