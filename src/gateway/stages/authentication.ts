// Authenticates a request by its headers (contract 10.1). A refusal does not say what is wrong with the credential,
// except that its key has expired (10.2).
import type { Caller } from '../../authn/caller.ts'
import { INVALID_KEY_REASONS } from '../../authn/key-validity.ts'
import { MOST_SIGNATURE_CHECKS } from '../../authn/token/signature-limiter.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { withResult } from '../../runtime/concurrency/with-result.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { TOKEN_ERRORS } from '../direct-errors.ts'
import { ERRORS } from '../errors.ts'
import { credentialOf } from '../request/credential.ts'
import type { CredentialRefusal, Stage } from '../request-context.ts'

/** Why a request has no caller, for metrics, whatever the kind of credential: none, or more than one. */
export const CREDENTIAL_FAULTS = ['none', 'twice'] as const

/** Why a request has no caller at the gateway, for metrics. */
export const AUTHENTICATION_REFUSALS = [
  ...INVALID_KEY_REASONS,
  ...CREDENTIAL_FAULTS,
  'unavailable',
] as const

/** Called for every authentication, for metrics; null = success. */
type AuthenticatedObserver = (refused: string | null) => void

const CREDENTIAL_REPEATED = refuse(ERRORS.credentialRepeated)

/** The answers to credentials that are not accepted. */
interface CredentialAnswers {
  /** The answer whatever is wrong, also to no credential at all. */
  readonly refused: BufferedAnswer
  /** The answers that tell the caller the reason, by reason. */
  readonly byReason: ReadonlyMap<string, BufferedAnswer>
}

/** The answers to access keys (contract 10.2). */
export const KEY_ANSWERS: CredentialAnswers = {
  refused: refuse(ERRORS.keyNotFound),
  byReason: new Map([
    ['expired', refuse(ERRORS.keyExpired)],
    ['unavailable', refuse(ERRORS.keyUnchecked)],
  ]),
}

/** The answers to tokens (contract 9.2). */
export const TOKEN_ANSWERS: CredentialAnswers = {
  refused: refuse(TOKEN_ERRORS.tokenNotAccepted),
  byReason: new Map([
    ['expired', refuse(TOKEN_ERRORS.tokenExpired)],
    ['stale', refuse(TOKEN_ERRORS.tokenUnchecked)],
    ['busy', refuse(TOKEN_ERRORS.tooManyChecks, { limit: MOST_SIGNATURE_CHECKS })],
  ]),
}

/** The caller that presents a bearer token, or why there is none. */
type BearerResult =
  | { readonly ok: true; readonly caller: Caller }
  | {
      readonly ok: false
      readonly because: string
      /** Absent, null = no key that is known. */
      readonly key?: AccessKey | null
    }

/** Authenticates by a bearer token. Never rejects. */
interface BearerAuthenticator {
  readonly authenticate: (token: string) => BearerResult | Promise<BearerResult>
}

/** The caller of a request, or the answer that refuses it. */
type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: BufferedAnswer; readonly refusal: CredentialRefusal }

/** The dependencies of the stage. */
export interface AuthenticationDeps {
  readonly authenticate: (http: HttpRequest) => Authentication | Promise<Authentication>
}

/** Refuses a request without a valid credential (contract 10.1). */
export const authentication: Stage<AuthenticationDeps> = (context, { authenticate }) =>
  withResult(authenticate(context.http), (result) => {
    if (!result.ok) {
      context.credentialRefusal = result.refusal
      return result.answer
    }
    context.caller = result.caller
    context.http.authenticated()
    return null
  })

/** Creates the function that authenticates requests by their headers. It never rejects. */
export function createAuthentication(
  authenticator: BearerAuthenticator,
  answers: CredentialAnswers,
  observe: AuthenticatedObserver,
): (call: Pick<HttpRequest, 'rawHeaders'>) => Authentication | Promise<Authentication> {
  return ({ rawHeaders }) => {
    const credential = credentialOf(rawHeaders)
    if (credential.kind !== 'bearer') {
      observe(credential.kind)
      return {
        ok: false,
        answer: credential.kind === 'none' ? answers.refused : CREDENTIAL_REPEATED,
        refusal: { because: credential.kind, key: null },
      }
    }
    return withResult(authenticator.authenticate(credential.token), (result): Authentication => {
      observe(result.ok ? null : result.because)
      if (result.ok) return result
      const { because, key = null } = result
      const answer = answers.byReason.get(because) ?? answers.refused
      return { ok: false, answer, refusal: { because, key } }
    })
  }
}
