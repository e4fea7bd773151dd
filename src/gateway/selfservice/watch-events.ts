// Streams the events of a watch, one at a time: the next event is read after the client has taken the one before. A
// watch whose client does not read is ended, not buffered (contract 12.2, 13.3).
import { setImmediate } from 'node:timers/promises'
import { type JsonMap, parseJsonMap } from '../../domain/json/json.ts'
import { sleep } from '../../runtime/clock.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { SelfServiceRequest } from './request.ts'
import { BufferFull } from './response-buffer.ts'

/** A watch ends when its client does not take an event within this time, in milliseconds. */
export const UNREAD_WITHIN_MS = 10_000

/** The first and the longest interval of checks whether the client has taken an event; milliseconds. */
const FIRST_CHECK_MS = 1
const LONGEST_CHECK_MS = 250

/**
 * Limits the watches that assemble an event from several chunks at a time: a change of one large object is an event in
 * every watch of it.
 */
const longEventSemaphore = createSemaphore(16, 4)

/** One event per turn of the event loop, for all watches: one change may be an event in thousands of watches. */
const turn = createTurnQueue(1)

/** The parts of a request that its watch events use. */
type WatchRequest = Pick<SelfServiceRequest, 'call' | 'caller' | 'clock' | 'reservation' | 'signal'>

/**
 * The lines for the client. Ends with an ERROR event if the next line exceeds the memory limits.
 *
 * @param toLine writes an upstream event as the client's line; null = the client does not get it
 * @param end ends the stream of these lines with an error, while it waits for its client in the middle of a line
 * @throws Error when the client does not read, and for a line that is not JSON
 */
export async function* eventsThrough(
  request: WatchRequest,
  body: AsyncIterable<Uint8Array>,
  toLine: (event: JsonMap) => Buffer | null,
  end: (error: Error) => void,
): AsyncGenerator<Buffer, void> {
  const { reservation, clock } = request
  for await (const { pieces, bytes, bytesAfter } of linesOf(request, body, toLine)) {
    const refusal = refusalOf(() => reservation.exactly(bytes + bytesAfter))
    if (refusal !== null) {
      yield refusal
      return
    }
    for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
      const cancel = clock.schedule(UNREAD_WITHIN_MS, () => end(unread()))
      yield piece
      cancel()
    }
    if (!(await isTaken(request))) throw unread()
    reservation.exactly(0)
  }
}

const unread = (): Error => new Error('the client does not read its watch')

/** A line, and the number of bytes after it in the same chunk. */
interface Line extends Pieces {
  readonly bytesAfter: number
}

/** A line in pieces, removed one by one: a waiting generator would keep the whole line in memory. */
interface Pieces {
  readonly pieces: Buffer[]
  readonly bytes: number
}

const PIECE_BYTES = 16_384

function piecesOf(line: Buffer): Pieces {
  const pieces: Buffer[] = []
  for (let from = 0; from < line.length; from += PIECE_BYTES)
    pieces.push(Buffer.from(line.subarray(from, from + PIECE_BYTES)))
  return { pieces, bytes: line.length }
}

const NEWLINE = 0x0a

async function* linesOf(
  { caller }: WatchRequest,
  body: AsyncIterable<Uint8Array>,
  toLine: (event: JsonMap) => Buffer | null,
): AsyncGenerator<Line, void> {
  let rest: Uint8Array[] = []
  let releasePermit: (() => void) | null = null
  try {
    for await (const chunk of body) {
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
        rest.push(chunk.subarray(from, end))
        from = end + 1
        await turn()
        const line = lineOf(rest, toLine)
        rest = []
        releasePermit?.()
        releasePermit = null
        if (line !== null) yield { ...line, bytesAfter: chunk.length - from }
      }
      if (from === chunk.length) continue
      rest.push(chunk.subarray(from))
      releasePermit ??= await acquirePermit(caller.identity.user)
    }
  } finally {
    releasePermit?.()
  }
}

/** Waits for a permit to assemble an event; the returned function gives it back. */
const acquirePermit = (caller: string): Promise<() => void> =>
  new Promise(
    (acquired) =>
      void longEventSemaphore(
        caller,
        () => new Promise<void>((releasePermit) => acquired(releasePermit)),
      ),
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

/** Calls `reserve`. Returns the last event of the watch if that exceeds the memory limits; null = it does not. */
function refusalOf(reserve: () => void): Buffer | null {
  try {
    reserve()
    return null
  } catch (error) {
    if (!(error instanceof BufferFull)) throw error
    return Buffer.from(`{"type":"ERROR","object":${error.answer.body.toString()}}\n`)
  }
}

/** Waits until the client has taken all bytes of the answer; false if it does not in time. */
async function isTaken({ call, clock, signal }: WatchRequest): Promise<boolean> {
  // By then, the bytes that were just yielded have reached the response.
  await setImmediate()
  const endMs = clock.monotonicMs() + UNREAD_WITHIN_MS
  for (let waitMs = FIRST_CHECK_MS; call.unsent() > 0 && !signal.aborted; waitMs *= 2) {
    if (clock.monotonicMs() >= endMs) return false
    await sleep(clock, Math.min(waitMs, LONGEST_CHECK_MS), signal)
  }
  return true
}
