// From a request's headers to its caller, or to the one refusal that says nothing about why (contract 10.1,
// 10.2).
import type { Authenticator, AuthenticationResult } from '../../authn/authenticator.ts'
import type { Caller } from '../../authn/caller.ts'
import { INVALID_KEY_REASONS } from '../../authn/key-validity.ts'
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'
import type { Stage } from '../request-context.ts'
import { credentialOf } from './credential.ts'

/** Why a request has no caller, for metrics. */
export const AUTHENTICATION_REFUSALS = [
  ...INVALID_KEY_REASONS,
  'none',
  'twice',
  'unavailable',
] as const

/** One of AUTHENTICATION_REFUSALS. */
type AuthenticationRefusal = (typeof AUTHENTICATION_REFUSALS)[number]

/** Called for every authentication; null = it succeeded. */
type AuthenticatedObserver = (refused: AuthenticationRefusal | null) => void

const NOT_FOUND = refuse(ERRORS.keyNotFound)
const EXPIRED = refuse(ERRORS.keyExpired)
const REPEATED = refuse(ERRORS.credentialRepeated)
const UNCHECKED = refuse(ERRORS.keyUnchecked)

/** The caller of a request, or the answer that refuses it. */
type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** The authenticator of requests. */
export interface AuthenticationDeps {
  readonly authenticate: (http: HttpRequest) => Promise<Authentication>
}

/** Refuses a request without a valid credential (contract 10.1). */
export const authentication: Stage<AuthenticationDeps> = async (context, { authenticate }) => {
  const result = await authenticate(context.http)
  if (!result.ok) return result.answer
  context.caller = result.caller
  return null
}

/** Authenticates requests by their headers. It never rejects. */
export function createAuthentication(
  callers: Pick<Authenticator, 'authenticate'>,
  authenticated: AuthenticatedObserver,
): (call: Pick<HttpRequest, 'rawHeaders'>) => Promise<Authentication> {
  return async ({ rawHeaders }) => {
    const credential = credentialOf(rawHeaders)
    if (credential.kind !== 'bearer') {
      authenticated(credential.kind)
      return { ok: false, answer: credential.kind === 'none' ? NOT_FOUND : REPEATED }
    }
    const recognition = await callers.authenticate(credential.token)
    authenticated(recognition.ok ? null : recognition.because)
    return recognition.ok ? recognition : { ok: false, answer: answerTo(recognition.because) }
  }
}

function answerTo(
  because: Exclude<AuthenticationResult, { readonly ok: true }>['because'],
): WholeAnswer {
  if (because === 'unavailable') return UNCHECKED
  return because === 'expired' ? EXPIRED : NOT_FOUND
}
