// Passes a watch on as it comes, and ends it with a last line of the gateway (contract 13.3, 13.4).
import type { Readable } from 'node:stream'
import { BodyCut } from '../../serving/http/answer.ts'
import { PassedBody } from './passed-body.ts'

const NEWLINE = 0x0a

/** How long a cut waits for the end of the current line, before it cuts within the line; milliseconds. */
const LINE_ENDS_WITHIN_MS = 200

/** How long a client may take to read all that precedes the end, and the last line; milliseconds. */
const READ_WITHIN_MS = 500

/**
 * Passes the pieces of a watch on, whatever they hold: an event may be as long as a target likes, so none is assembled.
 * Whether the last byte was a newline is all that it remembers.
 */
export class WatchStream extends PassedBody {
  readonly #flowed: () => void
  #isAtLineEnd = true
  #hasArrived = false
  /** Waits for the end of the line under way; null = no line does. */
  #lastLine: Buffer | null = null
  /** Destroys a stream that was cut and is not read; undefined = it was not cut. */
  #timer: NodeJS.Timeout | undefined

  /** @param flowed called for each chunk that passes */
  constructor(source: Readable, flowed: () => void) {
    super(source)
    this.#flowed = flowed
    this.endWithSource()
  }

  /**
   * Ends the stream with this line, which may be empty, after the line that is under way; the rest of the source is
   * dropped. A line that does not end in time is left as it is, and the stream is destroyed: no event stands in another.
   * So is a stream that its client does not read.
   */
  cut(line: Buffer): void {
    if (this.#timer !== undefined) return
    // Its client has not read all, but all that there is.
    if (this.#hasArrived) this.#destroyAfter(READ_WITHIN_MS)
    else if (this.#isAtLineEnd) this.#finish(line)
    else {
      this.#lastLine = line
      this.#destroyAfter(LINE_ENDS_WITHIN_MS)
    }
  }

  protected override pass(piece: Buffer): boolean {
    // The source may hold a rest when the stream ends.
    if (this.hasEndedHere) return true
    this.#flowed()
    const lineEnd = this.#lastLine === null ? -1 : piece.indexOf(NEWLINE)
    if (this.#lastLine === null || lineEnd === -1) {
      this.#isAtLineEnd = piece[piece.length - 1] === NEWLINE
      return this.push(piece)
    }
    this.push(piece.subarray(0, lineEnd + 1))
    this.#finish(this.#lastLine)
    return false
  }

  protected override arrived(): void {
    this.#hasArrived = true
    super.arrived()
  }

  #finish(line: Buffer): void {
    if (line.length > 0) this.push(line)
    this.endHere()
    this.#destroyAfter(READ_WITHIN_MS)
  }

  /** In place of an earlier time. */
  #destroyAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.destroy(new BodyCut('the watch was cut')), ms).unref()
  }
}
