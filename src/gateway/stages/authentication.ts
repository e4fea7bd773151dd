// Authenticates a request by its headers (contract 10.1). A refusal does not say what is wrong with the credential,
// except that its key has expired (10.2).
import type { Caller } from '../../authn/caller.ts'
import { INVALID_KEY_REASONS } from '../../authn/key-validity.ts'
import { MOST_SIGNATURE_CHECKS } from '../../authn/token/signature-checks.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { TOKEN_ERRORS } from '../direct-errors.ts'
import { ERRORS } from '../errors.ts'
import type { Stage } from '../request-context.ts'

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
  /** The other answers: of these reasons the caller learns. */
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

/** Authenticates by a bearer token. Never rejects. */
interface BearerAuthenticator {
  readonly authenticate: (
    token: string,
  ) => Promise<
    | { readonly ok: true; readonly caller: Caller }
    | { readonly ok: false; readonly because: string }
  >
}

/** The caller of a request, or the answer that refuses it. */
type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** The dependencies of the stage. */
export interface AuthenticationDeps {
  readonly authenticate: (http: HttpRequest) => Promise<Authentication>
}

/** Refuses a request without a valid credential (contract 10.1). */
export const authentication: Stage<AuthenticationDeps> = async (context, { authenticate }) => {
  const result = await authenticate(context.http)
  if (!result.ok) return result.answer
  context.caller = result.caller
  context.http.authenticated()
  return null
}

/** Creates the function that authenticates requests by their headers. It never rejects. */
export function createAuthentication(
  authenticator: BearerAuthenticator,
  answers: CredentialAnswers,
  observe: AuthenticatedObserver,
): (call: Pick<HttpRequest, 'rawHeaders'>) => Promise<Authentication> {
  return async ({ rawHeaders }) => {
    const credential = credentialOf(rawHeaders)
    if (credential.kind !== 'bearer') {
      observe(credential.kind)
      return {
        ok: false,
        answer: credential.kind === 'none' ? answers.refused : CREDENTIAL_REPEATED,
      }
    }
    const result = await authenticator.authenticate(credential.token)
    observe(result.ok ? null : result.because)
    if (result.ok) return result
    return { ok: false, answer: answers.byReason.get(result.because) ?? answers.refused }
  }
}

// Reads the credential from the headers as they were sent (contract 10.1).

/**
 * The credential of a request. Another scheme or an empty token counts as a bearer with an unknown token: its refusal is
 * that of any unknown key, word by word (10.2).
 */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** More than one credential: another server might use the other one. */
  | { readonly kind: 'twice' }

/** The prefix of a token in a WebSocket subprotocol: a browser can send no other header with a WebSocket. */
const TOKEN_SUBPROTOCOL_PREFIX = 'base64url.bearer.authorization.k8s.io.'

/** The credential in the headers. @param rawHeaders names and values in turn */
export function credentialOf(rawHeaders: readonly string[]): Credential {
  const tokens: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (CREDENTIAL_HEADERS.has(name)) tokens.push(...tokensIn(name, rawHeaders[at + 1] ?? ''))
  }
  const [token, ...others] = tokens
  if (token === undefined) return { kind: 'none' }
  return others.length > 0 ? { kind: 'twice' } : { kind: 'bearer', token }
}

const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'sec-websocket-protocol'])

function tokensIn(name: string, value: string): readonly string[] {
  if (name === 'authorization') return [bearerIn(value)]
  return value
    .split(',')
    .map((protocol) => protocol.trim())
    .filter(isCredential)
    .map((protocol) => decoded(protocol.slice(TOKEN_SUBPROTOCOL_PREFIX.length)))
}

/** Whether a WebSocket subprotocol is a credential, which is never forwarded (contract 10.1). */
export const isCredential = (protocol: string): boolean =>
  protocol.startsWith(TOKEN_SUBPROTOCOL_PREFIX)

/** The token as the API server reads it: the scheme in any case, one space; words after the token are ignored. */
function bearerIn(value: string): string {
  const [scheme = '', token = ''] = value.trim().split(' ')
  return scheme.toLowerCase() === 'bearer' ? token : ''
}

const decoded = (text: string): string =>
  /^[\w-]+$/.test(text) ? Buffer.from(text, 'base64url').toString('latin1') : ''
