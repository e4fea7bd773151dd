// Observers of requests: every request that reaches this process as HTTP, whether or not a stage answers it.
import type { Log } from '../runtime/log.ts'
import type { Answer } from '../serving/http/answer.ts'
import type { DeliveryEnd } from '../serving/http/delivery.ts'
import type { HttpRequest } from '../serving/http/request.ts'
import type { RequestContext } from './request-context.ts'
import type { TerminationReason } from './streams/in-flight.ts'

/**
 * How the answer to a request has ended.
 *
 * `complete`: the client was sent all of it. `refused`: the same, and it is a refusal of this process. `clientGone`: the
 * client disconnected before. `clientStalled`: the client read nothing for too long. `keyEnded`: the credential ended
 * or changed. `targetEnded`: the target was removed or changed. `upstreamFailed`: the body broke off. `unsendable`: the
 * answer was invalid. `shutdown`: this process stopped.
 */
export type AnswerEnd =
  | Exclude<DeliveryEnd, 'bodyFailed'>
  | 'refused'
  | 'keyEnded'
  | 'targetEnded'
  | 'upstreamFailed'

/** The decision about a request. */
export interface Decision {
  /** The result of the stages, which have all run. */
  readonly context: Readonly<RequestContext>
  /** Its head is not sent yet. A streamed body must not be read. */
  readonly answer: Answer
  /** The unexpected error of a stage, which is answered with 500; null = none. */
  readonly failure: { readonly cause: unknown } | null
}

/** Observes requests. */
export interface RequestObserver {
  /** For the log. */
  readonly name: string
  /** A request has arrived, and no stage has run. @returns the observation of this request */
  readonly received: (http: HttpRequest) => RequestObservation
}

/** Observes one request. */
export interface RequestObservation {
  /** The answer is decided, and nothing of it is sent. */
  readonly decided: (decision: Decision) => void
  /** The answer has ended; after `decided`, once for each request. */
  readonly ended: (end: AnswerEnd) => void
}

/** Observes one request for all observers. */
export class ObservedRequest {
  readonly #log: Log
  readonly #observations: (readonly [name: string, observation: RequestObservation])[] = []

  /**
   * Calls `received` of all observers. Each event reaches them in the order of the list. One that throws is logged, and
   * harms neither the request nor the others; if `received` throws, it observes nothing else of the request.
   */
  constructor(http: HttpRequest, observers: readonly RequestObserver[], log: Log) {
    this.#log = log
    for (const observer of observers)
      this.#protect(observer.name, () => {
        this.#observations.push([observer.name, observer.received(http)])
      })
  }

  decided(decision: Decision): void {
    for (const [name, observation] of this.#observations)
      this.#protect(name, () => observation.decided(decision))
  }

  ended(end: AnswerEnd): void {
    for (const [name, observation] of this.#observations)
      this.#protect(name, () => observation.ended(end))
  }

  #protect(observer: string, call: () => void): void {
    try {
      call()
    } catch (err) {
      this.#log.error({ observer, err }, 'an observer of requests failed')
    }
  }
}

/** The end of an answer. @param cut why this process has cut or replaced it; null = it has not */
export function answerEnd(
  delivery: DeliveryEnd,
  isRefusal: boolean,
  cut: TerminationReason | null,
): AnswerEnd {
  if (cut !== null) return ENDS_BY_CUT[cut]
  if (delivery === 'bodyFailed') return 'upstreamFailed'
  return delivery === 'complete' && isRefusal ? 'refused' : delivery
}

const ENDS_BY_CUT: Readonly<Record<TerminationReason, AnswerEnd>> = {
  expired: 'keyEnded',
  revoked: 'keyEnded',
  changed: 'keyEnded',
  stale: 'keyEnded',
  target: 'targetEnded',
  shutdown: 'shutdown',
}
