// The memory that answers and events about our own kinds hold until their clients have read them (contract 12.2, 13.3):
// a limit for all, and an eighth of it for one caller, however many keys the caller uses.
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'

/** Counts the bytes that the requests of this replica hold. */
export interface ResponseBuffer {
  /** A reservation for one request of this caller, with no bytes yet. */
  readonly holding: (caller: string) => BufferReservation
}

/** The reserved bytes of one request. */
export interface BufferReservation {
  /** Sets the bytes. @throws BufferFull when they grow beyond a limit */
  readonly exactly: (bytes: number) => void
  /** Raises the bytes to this number. @throws BufferFull beyond a limit */
  readonly atLeast: (bytes: number) => void
  /** Raises the bytes even beyond a limit: for the answer to a write that is stored already. */
  readonly anyway: (bytes: number) => void
  /** Sets the bytes to 0 for good: later calls do nothing. */
  readonly release: () => void
  /** Maximum bytes of a page of a list, unless the page is a single object. */
  readonly pageBytes: number
}

/** A limit is reached: the request is answered with a 429. */
export class BufferFull extends Error {
  override readonly name = 'BufferFull'
  /** The 429. */
  readonly answer: BufferedAnswer

  constructor(answer: BufferedAnswer) {
    super('answers and events of our own kinds have no room')
    this.answer = answer
  }
}

/** One caller gets the limit for all divided by this: enough for a few of the largest objects. */
const CALLER_DIVISOR = 8
/** One page gets the limit of a caller divided by this: parsing a page blocks the event loop for some milliseconds. */
const PAGE_DIVISOR = 16

const callerRefusal = (most: number): BufferedAnswer =>
  refuse(SELF_SERVICE_ERRORS.bufferOfCallerFull, { limit: most })

const totalRefusal = (most: number): BufferedAnswer =>
  refuse(SELF_SERVICE_ERRORS.bufferFull, { limit: most })

/**
 * Creates the buffer.
 *
 * @param most the limit for all callers, in bytes
 * @param refused called for every refusal, for metrics
 */
export function createResponseBuffer(most: number, refused: () => void): ResponseBuffer {
  const mostOfCaller = Math.floor(most / CALLER_DIVISOR)
  const bytesByCaller = new Map<string, number>()
  let totalBytes = 0
  const add = (caller: string, bytes: number): void => {
    totalBytes += bytes
    const now = (bytesByCaller.get(caller) ?? 0) + bytes
    if (now > 0) bytesByCaller.set(caller, now)
    else bytesByCaller.delete(caller)
  }
  const refusalOf = (caller: string, bytes: number): BufferedAnswer | null => {
    if ((bytesByCaller.get(caller) ?? 0) + bytes > mostOfCaller) return callerRefusal(mostOfCaller)
    return totalBytes + bytes > most ? totalRefusal(most) : null
  }
  return {
    holding: (caller) => {
      let reserved = 0
      let isReleased = false
      const set = (bytes: number): void => {
        if (isReleased) return
        add(caller, bytes - reserved)
        reserved = bytes
      }
      const exactly = (bytes: number): void => {
        const refusal = isReleased || bytes <= reserved ? null : refusalOf(caller, bytes - reserved)
        if (refusal !== null) {
          refused()
          throw new BufferFull(refusal)
        }
        set(bytes)
      }
      return {
        exactly,
        atLeast: (bytes) => exactly(Math.max(reserved, bytes)),
        anyway: (bytes) => set(Math.max(reserved, bytes)),
        release: () => {
          set(0)
          isReleased = true
        },
        pageBytes: Math.floor(mostOfCaller / PAGE_DIVISOR),
      }
    },
  }
}
