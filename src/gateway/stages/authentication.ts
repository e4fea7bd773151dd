// From a request's headers to its caller, or to the one refusal that says nothing about why (contract 10.1,
// 10.2).
import type { Authenticator, AuthenticationResult } from '../../authn/authenticator.ts'
import { INVALID_KEY_REASONS } from '../../authn/key-validity.ts'
import { type WholeAnswer, failure } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import type { Authentication } from '../handler.ts'
import { credentialOf } from './credential.ts'

/** Why a request has no caller, for metrics. */
export const AUTHENTICATION_REFUSALS = [
  ...INVALID_KEY_REASONS,
  'none',
  'twice',
  'unavailable',
] as const

/** One of AUTHENTICATION_REFUSALS. */
export type AuthenticationRefusal = (typeof AUTHENTICATION_REFUSALS)[number]

/** Told of every authentication; null = it succeeded. */
export type AuthenticatedObserver = (refused: AuthenticationRefusal | null) => void

const CHALLENGE = { 'www-authenticate': 'Bearer' }

/** The refusal of what is no key, and of any key that does not work (contract 10.2). */
export const NOT_FOUND = failure(
  'Unauthorized',
  'platform access key not found. Please login again',
  CHALLENGE,
)

/** Told to whoever has the right key, too late. */
export const EXPIRED = failure(
  'Unauthorized',
  'platform access key expired. Please login again',
  CHALLENGE,
)

const TWICE = failure(
  'BadRequest',
  'the request has more than one credential: send one, in the header Authorization',
)

/** Told to whoever's key has another scope or identity than when he asked (contract 13.4). */
export const CHANGED = failure(
  'Unauthorized',
  'the platform access key changed. Please try again',
  CHALLENGE,
)

/** Nothing passes on stale knowledge (contract 10.4). */
export const CANNOT_TELL = failure(
  'ServiceUnavailable',
  'the gateway can not tell now whether the platform access key is good. Please try again',
  { 'retry-after': '1' },
)

/** Authenticates a call. It never rejects. */
export function createAuthentication(
  callers: Pick<Authenticator, 'authenticate'>,
  authenticated: AuthenticatedObserver,
): (call: Pick<HttpRequest, 'rawHeaders'>) => Promise<Authentication> {
  return async ({ rawHeaders }) => {
    const credential = credentialOf(rawHeaders)
    if (credential.kind !== 'bearer') {
      authenticated(credential.kind)
      return { ok: false, answer: credential.kind === 'none' ? NOT_FOUND : TWICE }
    }
    const recognition = await callers.authenticate(credential.token)
    authenticated(recognition.ok ? null : recognition.because)
    return recognition.ok ? recognition : { ok: false, answer: answerTo(recognition.because) }
  }
}

function answerTo(
  because: Exclude<AuthenticationResult, { readonly ok: true }>['because'],
): WholeAnswer {
  if (because === 'unavailable') return CANNOT_TELL
  return because === 'expired' ? EXPIRED : NOT_FOUND
}
