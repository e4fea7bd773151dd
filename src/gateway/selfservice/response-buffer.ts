// The memory that answers and events about our own kinds hold until their clients have read them (contract
// 12.2, 13.3): a limit for all, and an eighth of it for one caller, however many keys they use.
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'

/** Counts the bytes that the requests of one process hold. */
export interface ResponseBuffer {
  /** The count of one request of this caller, which holds nothing yet. */
  readonly holding: (caller: string) => BufferReservation
}

/** The count of one request, in bytes. */
export interface BufferReservation {
  /** Sets the count. @throws NoRoom when it grows beyond a limit */
  readonly exactly: (bytes: number) => void
  /** Raises the count to this. @throws NoRoom beyond a limit */
  readonly atLeast: (bytes: number) => void
  /** Raises the count beyond a limit, too: for the answer to a write that is stored already. */
  readonly anyway: (bytes: number) => void
  /** Sets the count to 0 for good: later calls change nothing. */
  readonly release: () => void
  /** The bytes that a page of a list may have, unless it is one object. */
  readonly pageBytes: number
}

/** A limit is reached: the request is answered 429. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  /** The 429. */
  readonly answer: WholeAnswer

  constructor(answer: WholeAnswer) {
    super('answers and events of our own kinds have no room')
    this.answer = answer
  }
}

/** The part for one caller, enough for a few of the largest objects. */
const PART_OF_ONE = 8
/** The part of a caller's limit for one page: to parse it takes the event loop some milliseconds. */
const PART_OF_PAGE = 16

const ofOneRefusal = (most: number): WholeAnswer =>
  refuse(SELF_SERVICE_ERRORS.bufferOfCallerFull, { limit: most })

const inAllRefusal = (most: number): WholeAnswer =>
  refuse(SELF_SERVICE_ERRORS.bufferFull, { limit: most })

/**
 * Counts from now on.
 *
 * @param most the limit for all, in bytes
 * @param refused called for every refusal, for metrics
 */
export function createResponseBuffer(most: number, refused: () => void): ResponseBuffer {
  const mostOfOne = Math.floor(most / PART_OF_ONE)
  const ofCaller = new Map<string, number>()
  let inAll = 0
  const add = (caller: string, bytes: number): void => {
    inAll += bytes
    const now = (ofCaller.get(caller) ?? 0) + bytes
    if (now > 0) ofCaller.set(caller, now)
    else ofCaller.delete(caller)
  }
  const refusalOf = (caller: string, bytes: number): WholeAnswer | null => {
    if ((ofCaller.get(caller) ?? 0) + bytes > mostOfOne) return ofOneRefusal(mostOfOne)
    return inAll + bytes > most ? inAllRefusal(most) : null
  }
  return {
    holding: (caller) => {
      let held = 0
      let isOver = false
      const set = (bytes: number): void => {
        if (isOver) return
        add(caller, bytes - held)
        held = bytes
      }
      const exactly = (bytes: number): void => {
        const refusal = isOver || bytes <= held ? null : refusalOf(caller, bytes - held)
        if (refusal !== null) {
          refused()
          throw new NoRoom(refusal)
        }
        set(bytes)
      }
      return {
        exactly,
        atLeast: (bytes) => exactly(Math.max(held, bytes)),
        anyway: (bytes) => set(Math.max(held, bytes)),
        release: () => {
          set(0)
          isOver = true
        },
        pageBytes: Math.floor(mostOfOne / PART_OF_PAGE),
      }
    },
  }
}
