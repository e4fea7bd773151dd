// Ends an admitted request when its key ends before the answer begins (contract 13.4): the gateway authenticates by the
// head of a request, but the client decides when its body ends.
import type { Caller } from '../../authn/caller.ts'
import { type EndSignal, EndSource } from '../../runtime/concurrency/end-signal.ts'
import type { Answer, BufferedAnswer } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { hasBody, mayChange } from '../proxy/forward.ts'
import { credentialRefusals } from './credential-refusals.ts'
import type { EndReason, InFlightEntry, InFlightRequests, Pending } from './in-flight.ts'

/** The state of an admitted request, for the code that answers it. */
export interface RequestLease {
  /** Aborts when the client disconnects or the key ends: all work for the request then stops. */
  readonly signal: EndSignal
  /**
   * Asked right before a write is carried out: from then on it may complete when the key ends. Where the key has ended already, the
   * request ends at once, whatever it has written before.
   *
   * @returns false = it must not be carried out
   */
  readonly maySend: () => boolean
  /**
   * Authenticates the caller again. Await it before a write that follows a wait.
   *
   * @throws Error when the key has ended; the request has been answered by then
   */
  readonly still: () => Promise<Caller>
}

/** An admitted request, for the code that sends its answer. */
export interface HeldLease extends RequestLease, Pick<InFlightEntry, 'flows' | 'close'> {
  /**
   * The result of a stage, or a refusal as soon as the key has ended.
   *
   * @throws whatever `answering` rejects with
   */
  readonly outcome: <Result extends Answer | null>(
    answering: Promise<Result>,
  ) => Promise<LeaseOutcome<Result>>
}

/** A result. `isOver`: the key or the target ended before it, so the answer gets no expiry headers. */
export type LeaseOutcome<Result> =
  | { readonly answer: Result; readonly isOver: false }
  | { readonly answer: BufferedAnswer; readonly isOver: true; readonly reason: EndReason }

/** The request to lease. */
interface LeaseOptions {
  readonly call: HttpRequest
  readonly caller: Caller
  /** As in InFlightRequests.open. */
  readonly connection: object | null
  /** Whether the answer has no time limit. */
  readonly isLong: boolean
}

/** Registers an admitted request until `close`. */
export function leaseRequest(
  requests: InFlightRequests,
  { call, caller, connection, isLong }: LeaseOptions,
): HeldLease {
  const ended = new EndSource()
  let over = null as Extract<LeaseOutcome<never>, { isOver: true }> | null
  /** Answers the stage that runs now with the refusal. */
  let endStage = (): void => undefined
  let isHandedOn = false
  const pending: Pending = {
    mayComplete: () => isHandedOn && !isLong && isWrite(call) && hasArrived(call),
    end: (reason) => {
      const { beforeAnswer, ofChanges } = credentialRefusals(caller)
      // The API server does not carry out a request whose body is incomplete.
      const isCarriedOut =
        call.by !== 'request' || (isHandedOn && mayChange(call) && hasArrived(call))
      over = { answer: (isCarriedOut ? ofChanges : beforeAnswer)[reason], isOver: true, reason }
      entry.close()
      endStage()
      ended.end()
    },
  }
  const entry = requests.open(caller, pending, connection)
  if (call.gone.aborted) ended.end()
  else call.gone.addEventListener('abort', () => ended.end(), { once: true })
  return {
    signal: ended,
    // It may end in the turn in which its answer comes.
    flows: (kind, cut, mayComplete) =>
      over === null ? entry.flows(kind, cut, mayComplete) : cut(over.reason),
    close: entry.close,
    maySend: () => {
      const maySend = entry.maySend()
      isHandedOn ||= maySend
      return maySend
    },
    still: async () => {
      const now = await entry.still()
      if (now === null) throw new Error('the credential ended while a request of it was in flight')
      return now
    },
    outcome: (answering) =>
      new Promise((resolve, reject) => {
        endStage = () => over && resolve(over)
        endStage()
        answering.then(
          (answer) => {
            if (over === null) resolve({ answer, isOver: false })
            else discard(answer)
          },
          (error: Error) => over ?? reject(error),
        )
      }),
  }
}

/** The client of a write needs the result, even of a write that ends its own key. A read that is cut loses nothing. */
const isWrite = ({ method }: HttpRequest): boolean => !READ_METHODS.has(method)
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether the whole request has arrived. */
const hasArrived = (call: HttpRequest): boolean => !hasBody(call) || call.body.readableEnded

const discard = (answer: Answer | null): void => {
  if (answer !== null && !Buffer.isBuffer(answer.body)) answer.body.destroy()
}
