// The events of a watch, one at a time: the next is read once the client has taken the one before, and a watch
// that its client does not read is ended, not stored up (contract 12.2, 13.3).
import { setImmediate } from 'node:timers/promises'
import { type JsonMap, parseJsonMap } from '../../domain/json/json.ts'
import { sleep } from '../../runtime/clock.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/limited-concurrency.ts'
import type { SelfServiceRequest } from './request.ts'
import { NoRoom } from './response-buffer.ts'

/** A client that does not take an event within this time is gone, or may as well be; milliseconds. */
export const UNREAD_WITHIN_MS = 10_000

/** How often it is looked whether a client has taken an event, at first and at last; milliseconds. */
const FIRST_LOOK_MS = 1
const LAST_LOOK_MS = 250

/**
 * Events that come in several pieces are put together by few watches at a time: a change of one large object is
 * an event of every watch of it.
 */
const longEventSemaphore = createSemaphore(16, 4)

/** One event of all watches in each turn of the event loop: a change of one object may be one for thousands. */
const turn = createTurnQueue(1)

/** The parts of a request that its watch events use. */
type Watching = Pick<SelfServiceRequest, 'call' | 'caller' | 'clock' | 'reservation' | 'signal'>

/**
 * The lines for the client, one for each event that it gets. Ends with an ERROR event when the next one exceeds the
 * memory limits.
 *
 * @param toLine writes an upstream event as the client's line; null = the client does not get it
 * @throws Error when the client does not read, and for a line that is no JSON
 */
export async function* eventsThrough(
  watching: Watching,
  body: AsyncIterable<Uint8Array>,
  toLine: (event: JsonMap) => Buffer | null,
): AsyncGenerator<Buffer, void> {
  const { reservation } = watching
  for await (const { pieces, bytes, beside } of linesOf(watching, body, toLine)) {
    const refusal = refusalOf(() => reservation.exactly(bytes + beside))
    if (refusal !== null) {
      yield refusal
      return
    }
    for (let piece = pieces.shift(); piece; piece = pieces.shift()) yield piece
    if (!(await isTaken(watching))) throw new Error('the client does not read its watch')
    reservation.exactly(0)
  }
}

/** A line, and the bytes behind it that have come as well. */
interface Line extends Pieces {
  readonly beside: number
}

/** What stands in a generator that waits stays in memory: a line is taken out of here piece by piece. */
interface Pieces {
  readonly pieces: Buffer[]
  readonly bytes: number
}

const PIECE = 16_384

function piecesOf(line: Buffer): Pieces {
  const pieces: Buffer[] = []
  for (let from = 0; from < line.length; from += PIECE)
    pieces.push(Buffer.from(line.subarray(from, from + PIECE)))
  return { pieces, bytes: line.length }
}

const NEWLINE = 0x0a

async function* linesOf(
  { caller }: Watching,
  body: AsyncIterable<Uint8Array>,
  toLine: (event: JsonMap) => Buffer | null,
): AsyncGenerator<Line, void> {
  let rest: Uint8Array[] = []
  let leave: (() => void) | null = null
  try {
    for await (const chunk of body) {
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
        rest.push(chunk.subarray(from, end))
        from = end + 1
        await turn()
        const line = lineOf(rest, toLine)
        rest = []
        leave?.()
        leave = null
        if (line !== null) yield { ...line, beside: chunk.length - from }
      }
      if (from === chunk.length) continue
      rest.push(chunk.subarray(from))
      leave ??= await entered(caller.identity.user)
    }
  } finally {
    leave?.()
  }
}

/** Waits for a place among those who put events together; what is returned leaves it. */
const entered = (caller: string): Promise<() => void> =>
  new Promise(
    (enter) => void longEventSemaphore(caller, () => new Promise<void>((leave) => enter(leave))),
  )

function lineOf(
  pieces: readonly Uint8Array[],
  toLine: (event: JsonMap) => Buffer | null,
): Pieces | null {
  const text = Buffer.concat(pieces).toString('utf8')
  if (text === '') return null
  const event = parseJsonMap(text)
  if (event === null) throw new Error('an event of the API server is no JSON object')
  const line = toLine(event)
  return line && piecesOf(line)
}

/** The last event where there is no room; null where there is. */
function refusalOf(hold: () => void): Buffer | null {
  try {
    hold()
    return null
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error
    return Buffer.from(`{"type":"ERROR","object":${error.answer.body.toString()}}\n`)
  }
}

/** Waits until the client has taken everything that it was given; false when it does not in time. */
async function isTaken({ call, clock, signal }: Watching): Promise<boolean> {
  // What was just handed on has come to its response by then.
  await setImmediate()
  const endMs = clock.monotonicMs() + UNREAD_WITHIN_MS
  for (let waitMs = FIRST_LOOK_MS; call.unsent() > 0 && !signal.aborted; waitMs *= 2) {
    if (clock.monotonicMs() >= endMs) return false
    await sleep(clock, Math.min(waitMs, LAST_LOOK_MS), signal)
  }
  return true
}
