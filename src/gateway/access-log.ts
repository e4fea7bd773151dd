// The access log: observes every request and logs those that an administrator may ask for (contract 8.5).
import type { Clock } from '../runtime/clock.ts'
import type { Log, LogFields } from '../runtime/log.ts'
import { type SignInOutcome, changesSession } from '../domain/signin/outcome.ts'
import type { Answer } from '../serving/http/answer.ts'
import type { HttpRequest } from '../serving/http/request.ts'
import { AnonymousLimit } from './audit/anonymous-limit.ts'
import type { RequestContext } from './request-context.ts'
import {
  type KnownRequest,
  logRefusal,
  logSignIn,
  logWrite,
  requestLogFields,
} from './request-log-fields.ts'
import type {
  AnswerEnd,
  Decision,
  RequestObservation,
  RequestObserver,
} from './request-observer.ts'
import { isOwnKind } from './selfservice/handler.ts'

/**
 * Logs writes of our kinds, attempts to sign in, refusals, unexpected errors, and at level debug the answers that their client did not get
 * whole. A client that has disconnected gets no refusal and no error: neither is logged.
 */
export function accessLog(log: Log, clock: Clock): RequestObserver {
  const attempts = new AnonymousLimit(MOST_ATTEMPTS)
  const isLogged = (signIn: SignInOutcome): boolean =>
    changesSession(signIn) || attempts.take(clock.monotonicMs()) !== null
  return { name: 'access log', received: (http) => new RequestLog(log, http, isLogged) }
}

/** Lines a second about attempts to sign in that have not ended well: anyone can cause them. */
const MOST_ATTEMPTS = 50

/** The log lines of one request. */
class RequestLog implements RequestObservation {
  readonly #log: Log
  readonly #http: HttpRequest
  readonly #isLogged: (signIn: SignInOutcome) => boolean
  /** Kept at level debug only. */
  #fields: LogFields = {}

  constructor(log: Log, http: HttpRequest, isLogged: (signIn: SignInOutcome) => boolean) {
    this.#log = log
    this.#http = http
    this.#isLogged = isLogged
  }

  decided({ context, answer, failure }: Decision): void {
    if (this.#log.isDebugEnabled) this.#fields = requestLogFields(requestOf(context))
    if (failure !== null) this.#failed(context, failure.cause)
    else this.#answered(context, answer)
  }

  ended(end: AnswerEnd): void {
    if (!this.#log.isDebugEnabled || end === 'complete' || end === 'refused') return
    this.#log.debug({ requestId: this.#http.id, ...this.#fields, end }, 'answer ended early')
  }

  #answered(context: Readonly<RequestContext>, answer: Answer): void {
    const { admitted, caller, request, signIn } = context
    if (signIn !== null && this.#isLogged(signIn))
      logSignIn(this.#log.child({ requestId: this.#http.id }), requestOf(context), signIn, answer)
    const ownRequest = admitted !== null && request !== null && isOwnKind(request) ? request : null
    if (ownRequest === null && answer.refusal === undefined) return
    const log = this.#log.child({ requestId: this.#http.id })
    const isLogged =
      ownRequest !== null && caller !== null && logWrite(log, ownRequest, caller, answer)
    if (!isLogged && answer.refusal !== undefined && !this.#http.gone.aborted)
      logRefusal(log, requestOf(context), answer)
  }

  #failed(context: Readonly<RequestContext>, err: unknown): void {
    if (this.#http.gone.aborted) return
    const { path, target, caller } = context
    const publicPath = target === 'Public' && caller === null ? { path } : {}
    const fields = { requestId: this.#http.id, ...requestLogFields(requestOf(context)) }
    this.#log.error({ ...fields, ...publicPath, err }, 'request failed')
  }
}

const requestOf = ({ http, target, caller, request }: Readonly<RequestContext>): KnownRequest => ({
  method: http.method,
  target,
  caller,
  asked: request?.attributes ?? null,
})
