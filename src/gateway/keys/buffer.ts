// What of answers and events about our own kinds is in memory until their clients have taken it (contract
// 12.2, 13.3): so much in all, and an eighth of it of one caller, however many keys he calls with.
import { failure, type WholeAnswer } from '../http/answer.ts'

/** What is counted of the requests of one process. */
export interface OwnKindsBuffer {
  /** What one request of this caller holds: nothing yet. */
  readonly holding: (caller: string) => Holding
}

/** What one request holds, in bytes. */
export interface Holding {
  /** Holds so many, in place of what it held. @throws NoRoom when that is more, and there is no room for it */
  readonly exactly: (bytes: number) => void
  /** Holds so many, or as many as it did where that is more. @throws NoRoom */
  readonly atLeast: (bytes: number) => void
  /** The same where there is no room, too: for the answer to what has been done by then. */
  readonly anyway: (bytes: number) => void
  /** Nothing more is held, and whatever it is told to hold from now on is not counted. */
  readonly release: () => void
  /** The most of one page of a list that is more than one object. */
  readonly pageBytes: number
}

/** There is no room, which is what the client is answered. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  /** The 429. */
  readonly answer: WholeAnswer

  constructor(answer: WholeAnswer) {
    super('answers and events of our own kinds have no room')
    this.answer = answer
  }
}

/** One caller may hold this part of it, which is enough for a few of the largest objects. */
const PART_OF_ONE = 8
/** One page is this part of what one caller may hold: parsed, it takes the event loop some milliseconds. */
const PART_OF_PAGE = 16

const SOON = { 'retry-after': '1' }

const ofOneRefusal = (most: number): WholeAnswer =>
  failure(
    'TooManyRequests',
    `this caller has ${most} bytes of answers and events under way at this gateway, which is the most for one user, team or subject, so that there is room for others: read them, then try again`,
    SOON,
  )

const inAllRefusal = (most: number): WholeAnswer =>
  failure(
    'TooManyRequests',
    `this gateway has ${most} bytes of answers and events under way for all callers together, which is the most: try again`,
    SOON,
  )

/**
 * Counts from now on.
 *
 * @param most bytes in all
 * @param refused told of every refusal, for metrics
 */
export function createOwnKindsBuffer(most: number, refused: () => void): OwnKindsBuffer {
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
