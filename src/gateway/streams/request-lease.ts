// An admitted request until its answer begins, bound to its key (contract 13.4). The gateway authenticates by
// the head of a request, but the client decides when the body ends. A key that ends meanwhile ends the request.
import type { Caller } from '../../authn/caller.ts'
import { type Answer, type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'
import { hasBody } from '../proxy/forward.ts'
import type { EndReason, Opened, InFlightRequests } from './in-flight.ts'

/** The state of an admitted request, for the code that answers it. */
export interface RequestLease {
  /** Aborts when the client goes or the key ends: all work for the request then stops. */
  readonly signal: AbortSignal
  /**
   * The caller as of now. To be awaited before a write that follows a wait.
   *
   * @throws Error when the key has ended; the request has its answer by then
   */
  readonly still: () => Promise<Caller>
}

/** An admitted request, for the code that sends its answer. */
export interface HeldLease extends RequestLease, Pick<Opened, 'flows' | 'close'> {
  /**
   * The result of a stage, or the refusal as soon as the key has ended.
   *
   * @throws Error as the promise does
   */
  readonly outcome: <Result extends Answer | null>(
    answering: Promise<Result>,
  ) => Promise<LeaseOutcome<Result>>
}

/** A result; `isOver`: the key ended before it, so the answer says nothing about the key. */
type LeaseOutcome<Result> =
  | { readonly answer: Result; readonly isOver: false }
  | { readonly answer: WholeAnswer; readonly isOver: true }

/** The request to hold. */
interface LeaseOptions {
  readonly call: HttpRequest
  readonly caller: Caller
  /** Whether the answer has no bound of time. */
  readonly isLong: boolean
}

/** Holds an admitted request until `close`, which ends it. */
export function leaseRequest(
  streams: InFlightRequests,
  { call, caller, isLong }: LeaseOptions,
): HeldLease {
  const ending = new AbortController()
  const over = Promise.withResolvers<WholeAnswer>()
  let refusal = null as WholeAnswer | null
  const opened = streams.open(caller, {
    mayComplete: () => !isLong && isWrite(call) && isWhole(call),
    end: (reason) => {
      refusal = REFUSALS[reason]
      opened.close()
      over.resolve(refusal)
      ending.abort()
    },
  })
  if (call.gone.aborted) ending.abort()
  else call.gone.addEventListener('abort', () => ending.abort(), { once: true })
  return {
    signal: ending.signal,
    flows: opened.flows,
    close: opened.close,
    still: async () => {
      const now = await opened.still()
      if (now === null) throw new Error('the access key ended while a request of it was in flight')
      return now
    },
    outcome: async (answering) => {
      const first = await Promise.race([answering, over.promise]).catch((error: unknown) => {
        if (refusal === null) throw error
        return refusal
      })
      if (refusal === null) return { answer: first as Awaited<typeof answering>, isOver: false }
      void answering.then(discard, () => undefined)
      return { answer: refusal, isOver: true }
    },
  }
}

/** A read loses nothing when it is cut. The client of a write needs its result: it may end its own key. */
const isWrite = ({ method }: HttpRequest): boolean => !READING.has(method)
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether the request has arrived to its end. */
const isWhole = (call: HttpRequest): boolean => !hasBody(call) || call.body.readableEnded

const discard = (answer: Answer | null): void => {
  if (answer !== null && !Buffer.isBuffer(answer.body)) answer.body.destroy()
}

/** The answer to a request that is cut: the same as to the next one with this key (contract 10.2). */
const REFUSALS: Readonly<Record<EndReason, WholeAnswer>> = {
  expired: refuse(ERRORS.keyExpired),
  revoked: refuse(ERRORS.keyNotFound),
  changed: refuse(ERRORS.keyChanged),
  stale: refuse(ERRORS.keyUnchecked),
}
