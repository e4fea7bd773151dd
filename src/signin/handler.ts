// Every request of the sign-in process: who calls, the route, what became of it (contract 25.1, 25.2). An error that is not
// foreseen shows nothing of itself.
import type { OutgoingHttpHeaders } from 'node:http'
import { asAbortSignal } from '../runtime/concurrency/end-signal.ts'
import { PASSWORD } from '../domain/settings/providers.ts'
import { SIGN_IN_REFUSALS, type SignInReason, SignInRefused } from '../domain/signin/refusals.ts'
import type { SignInOutcome } from '../domain/signin/outcome.ts'
import { NoResponseError, StatusError } from '../kube/client/api-error.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, failureStatus } from '../serving/http/answer.ts'
import type { HttpRequest } from '../serving/http/request.ts'
import type { ServerHandler } from '../serving/http/server.ts'
import type { TokenVerdict } from './gateway-token.ts'
import { type AnswerSettings, type RouteAnswer, sentAnswer } from './answers.ts'
import {
  HttpFault,
  JSON_TYPE,
  type SignInRequest,
  checkedOnce,
  signInRequest,
} from './http/request.ts'
import { refusalPage } from './pages/login.ts'
import { type RouteParts, Trace } from './routes/route.ts'
import { type FoundRoute, routeOf } from './routes/table.ts'
import type { SignInState } from './settings.ts'

/** How an attempt ended, for metrics. */
export interface AttemptReport {
  /** Kind of the provider; empty = the attempt named none that exists. */
  readonly provider: string
  readonly outcome: SignInOutcome['outcome']
  /** null = it was not refused. */
  readonly reason: SignInReason | null
  readonly seconds: number
}

/** Options of createSignInHandler. */
interface SignInHandlerOptions {
  readonly deps: RouteParts
  /** Whether the header `Authorization` is the gateway's. */
  readonly callerOf: (authorization: string | undefined) => Promise<TokenVerdict>
  readonly reported: (report: AttemptReport) => void
  readonly log: Log
  /** Aborts when the process stops. */
  readonly signal: AbortSignal
}

/** The gateway waits for 30 s: what takes longer is for no client any more. */
const MAX_REQUEST_MS = 25_000

/** Creates the handler of all requests. */
export function createSignInHandler(options: SignInHandlerOptions): ServerHandler {
  return {
    respond: (http) => respond(http, options),
    refused: (_, refusal) => refusal,
  }
}

async function respond(http: HttpRequest, options: SignInHandlerOptions): Promise<Answer> {
  const verdict = await options.callerOf(http.headers.authorization)
  if (verdict !== 'gateway')
    return { status: verdict === 'other' ? 401 : 503, headers: {}, body: Buffer.alloc(0) }
  http.authenticated()
  const { deps } = options
  const startedMs = deps.clock.monotonicMs()
  const trace = new Trace()
  const request = signInRequest(http)
  const answered = await answer(request, trace, options)
  const outcome = outcomeOf(trace, answered.reason)
  if (outcome !== null) {
    const seconds = (deps.clock.monotonicMs() - startedMs) / 1000
    report(outcome, { request, answered, seconds }, options)
  }
  const cookies = [...trace.cookies, ...(answered.routed.cookies ?? [])]
  return sentAnswer({ ...answered.routed, cookies }, answerSettings(deps), outcome)
}

/** One line in the log for each attempt, and its metrics (contract 27.1). */
function report(
  outcome: SignInOutcome,
  {
    request,
    answered,
    seconds,
  }: {
    readonly request: SignInRequest
    readonly answered: RoutedAnswer
    readonly seconds: number
  },
  { deps, reported, log }: SignInHandlerOptions,
): void {
  const provider = kindOf(outcome.provider, deps.state())
  reported({ provider, outcome: outcome.outcome, reason: outcome.reason, seconds })
  const { remoteAddress: address, id: requestID } = request
  log.info({ ...outcome, address, requestID, ...answered.cause }, 'sign-in attempt')
}

/** Never the id of a connector, which an administrator chooses. */
const kindOf = (provider: string, state: SignInState | null): string =>
  provider === PASSWORD ? PASSWORD : (state?.providers.get(provider)?.kind ?? '')

/** An answer, and why it is a refusal. */
interface RoutedAnswer {
  readonly routed: RouteAnswer
  readonly reason: SignInReason | null
  /** Fields of the log. */
  readonly cause: { readonly because?: string; readonly err?: unknown }
}

async function answer(
  request: SignInRequest,
  trace: Trace,
  options: SignInHandlerOptions,
): Promise<RoutedAnswer> {
  const { deps } = options
  const signal = AbortSignal.any([
    options.signal,
    asAbortSignal(request.http.gone),
    AbortSignal.timeout(MAX_REQUEST_MS),
  ])
  try {
    const route = routeOf(request.method, request.path)
    checkedOnce(request.query)
    const state = deps.state()
    const keys = deps.sealingKeys()
    if (state === null || keys === null)
      throw new SignInRefused('key_not_made', 'settings or sealing keys have not been seen')
    checkOrigin(request, route, state.publicUrl)
    const routed = await route.run({ request, state, keys, deps, trace, signal })
    return { routed, reason: null, cause: {} }
  } catch (error) {
    if (error instanceof HttpFault) return faultAnswer(error, request, trace)
    // What fails because the client has left is no fault, and an answer that reaches no client.
    if (request.http.gone.aborted && !(error instanceof SignInRefused))
      return faultAnswer(new HttpFault(400, 'the client has left'), request, trace)
    const refused = refusalOf(error)
    const err = refused === error ? {} : { err: error }
    return {
      routed: refusalAnswer(refused, request, trace),
      reason: refused.reason,
      cause: { because: refused.message, ...err },
    }
  }
}

/**
 * A POST comes from a page of the platform, or from a program that no browser is (contract 25.2).
 *
 * @throws SignInRefused `cross_origin`
 */
function checkOrigin(
  { method, origin, cookies, contentType }: SignInRequest,
  { takesAnyOrigin }: FoundRoute,
  publicUrl: string | null,
): void {
  if (method !== 'POST' || takesAnyOrigin) return
  const isOwnPage = origin !== null && publicUrl !== null && origin === new URL(publicUrl).origin
  const isProgram = origin === null && cookies.size === 0 && contentType === JSON_TYPE
  if (!isOwnPage && !isProgram) throw new SignInRefused('cross_origin', 'Origin of the request')
}

/** The refusal for an error: an outage says so, and anything else is a fault of this program. */
function refusalOf(error: unknown): SignInRefused {
  if (error instanceof SignInRefused) return error
  const isOutage = error instanceof StatusError || error instanceof NoResponseError
  return new SignInRefused('key_not_made', isOutage ? 'the API server' : 'an unexpected error')
}

function refusalAnswer(refused: SignInRefused, request: SignInRequest, trace: Trace): RouteAnswer {
  const { code, text } = SIGN_IN_REFUSALS[refused.reason]
  const { detail, retryAfterSeconds } = refused
  const shown = `${text}${detail === null ? '' : `: ${detail}`} (reference ${request.id})`
  const headers = retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }
  return errorAnswer({ code, text: shown, headers }, request, trace)
}

function faultAnswer(
  { code, message, allow }: HttpFault,
  request: SignInRequest,
  trace: Trace,
): RoutedAnswer {
  const headers = allow.length === 0 ? {} : { allow: allow.join(', ') }
  const text = `${message} (reference ${request.id})`
  const routed = errorAnswer({ code, text, headers }, request, trace)
  return { routed, reason: null, cause: {} }
}

/** An error, as the client reads it. */
interface ShownError {
  readonly code: number
  readonly text: string
  readonly headers: OutgoingHttpHeaders
}

function errorAnswer(
  { code, text, headers }: ShownError,
  { prefersJson }: SignInRequest,
  { destination }: Trace,
): RouteAnswer {
  const content = prefersJson
    ? { json: failureStatus(code, STATUS_REASONS[code] ?? 'InternalError', text) }
    : { page: refusalPage(text, destination) }
  return { status: code, content, headers }
}

/** metav1.StatusReason by code; absent = InternalError. */
const STATUS_REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
}

function outcomeOf(trace: Trace, reason: SignInReason | null): SignInOutcome | null {
  const { provider, subject, user } = trace
  const outcome = reason === null ? trace.outcome : 'refused'
  return outcome === null ? null : { provider, subject, user, outcome, reason }
}

function answerSettings({ state }: RouteParts): AnswerSettings {
  const { auth, uiSettings } = state()?.settings ?? {}
  return { ui: uiSettings ?? {}, customHttpHeaders: auth?.customHttpHeaders ?? {} }
}
