// Counts answers and measures the time to them, for every request (contract 15).
import type { Clock } from '../runtime/clock.ts'
import type { AnsweredTarget } from './request-context.ts'
import type { RequestObserver } from './request-observer.ts'

/**
 * Counts one answer.
 *
 * @param verb the API server's verb, or the HTTP method of a request that is not parsed
 * @param seconds from the arrival of the request to the decision about it
 */
type CountAnswer = (target: AnsweredTarget, verb: string, code: number, seconds: number) => void

/** Observes requests for metrics. */
export const answerMetrics = (count: CountAnswer, clock: Clock): RequestObserver => ({
  name: 'metrics',
  received: () => {
    const startedMs = clock.monotonicMs()
    return {
      decided: ({ context: { target, request, http }, answer }) => {
        const verb = request?.attributes.verb ?? http.method
        count(target, verb, answer.status, (clock.monotonicMs() - startedMs) / 1000)
      },
      ended: () => undefined,
    }
  },
})
