// A request from when it was let pass until its answer begins, bound to the key that it came with (contract
// 13.4): who asks is judged by the head of a request, and decides himself when the last byte of its body
// comes. A key that ends meanwhile ends the request.
import type { Caller } from '../../credentials/caller.ts'
import type { Answer, WholeAnswer } from '../http/answer.ts'
import type { Call } from '../http/server.ts'
import { CANNOT_TELL, CHANGED, EXPIRED, NOT_FOUND } from '../stages/authenticate.ts'
import { hasBody } from '../targets/forward.ts'
import type { EndReason, Opened, Streams } from './registry.ts'

/** What answers a request looks at meanwhile. */
export interface UnderWay {
  /** Aborts when the client goes, and when the key ends: what is done for the request is to end. */
  readonly signal: AbortSignal
  /**
   * The caller as of now: for whoever has waited, and is about to store something.
   *
   * @throws Error when he is none any more; the request has its answer then, whatever follows
   */
  readonly still: () => Promise<Caller>
}

/** A request, for who sends its answer. */
export interface Held extends UnderWay, Pick<Opened, 'flows' | 'close'> {
  /** Its outcome, as soon as there is an answer or the key has ended. @throws Error as the promise does */
  readonly outcome: (answering: Promise<Answer>) => Promise<Outcome>
}

/** An answer; `isOver`: to somebody whose key ended before, and of whom nothing is known any more. */
export interface Outcome {
  readonly answer: Answer
  readonly isOver: boolean
}

/** Of which request. */
export interface HoldOptions {
  readonly call: Call
  readonly caller: Caller
  /** Whether the answer may take as long as it likes. */
  readonly isLong: boolean
}

/** Holds a request that was let pass. `close` is to be called once nothing more of it is wanted. */
export function hold(streams: Streams, { call, caller, isLong }: HoldOptions): Held {
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
      if (now === null) throw new Error('the access key ended while a request of it was under way')
      return now
    },
    outcome: async (answering) => {
      const first = await Promise.race([answering, over.promise]).catch((error: unknown) => {
        if (refusal === null) throw error
        return refusal
      })
      if (refusal === null) return { answer: first, isOver: false }
      void answering.then(discard, () => undefined)
      return { answer: refusal, isOver: true }
    },
  }
}

/** Who reads has lost nothing. Who writes wants to know what came of it: he may have ended his key himself. */
const isWrite = ({ method }: Call): boolean => !READING.has(method)
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether nothing more of it is to come. */
const isWhole = (call: Call): boolean => !hasBody(call) || call.body.readableEnded

const discard = ({ body }: Answer): void => {
  if (!Buffer.isBuffer(body)) body.destroy()
}

/** What somebody is told whose request is cut: the same as for his next one (contract 10.2). */
const REFUSALS: Readonly<Record<EndReason, WholeAnswer>> = {
  expired: EXPIRED,
  revoked: NOT_FOUND,
  changed: CHANGED,
  stale: CANNOT_TELL,
}
