// Passes a watch on as it comes, and ends it with a last line of the gateway (contract 13.3, 13.4).
import { Transform, type TransformCallback } from 'node:stream'

const NEWLINE = 0x0a

/** How long a cut waits for the end of the current line, before it cuts within the line; milliseconds. */
const LINE_ENDS_WITHIN_MS = 200

/** The last line, which waits for the end of the line under way. */
interface LastLine {
  readonly line: Buffer
  readonly done: () => void
}

/**
 * Passes the pieces of a watch on, whatever they hold: an event may be as long as a target likes, so none is assembled.
 * Whether the last byte was a newline is all that it remembers.
 */
export class WatchStream extends Transform {
  readonly #flowed: () => void
  #isAtLineEnd = true
  #last: LastLine | null = null
  #isCut = false
  #failure: Error | null = null

  /** @param flowed called for each chunk that passes */
  constructor(flowed: () => void) {
    super()
    this.#flowed = flowed
  }

  /** Whether it has ended by a cut. */
  get isCut(): boolean {
    return this.#isCut
  }

  /**
   * Ends the stream with this line, which may be empty, after the line that is under way; the rest of the source is
   * dropped. A line that does not end in time is left as it is, and the stream is destroyed: no event stands in another.
   *
   * @param done called when nothing of the source is read any more; not where the client has read all
   */
  cut(line: Buffer, done: () => void): void {
    if (this.#isCut || this.#last !== null || this.destroyed) return
    // Its client has not read all, but all that there is.
    if (this.writableFinished) {
      this.#isCut = true
      done()
      return
    }
    if (this.#isAtLineEnd) {
      this.#finish({ line, done })
      return
    }
    this.#last = { line, done }
    const timer = setTimeout(() => this.#abandon(done), LINE_ENDS_WITHIN_MS)
    this.once('close', () => clearTimeout(timer))
  }

  /** Fails the stream once its client has read what arrived before, unless it is cut. */
  breakOff(cause: Error): void {
    this.#failure ??= cause
    this.#failWhenRead()
  }

  override read(size?: number): Buffer | null {
    const bytes = super.read(size) as Buffer | null
    // Only then: the reader gets the bytes after this call.
    if (this.#failure !== null) process.nextTick(() => this.#failWhenRead())
    return bytes
  }

  #failWhenRead(): void {
    const isRead = this.readableLength === 0 && this.writableLength === 0
    if (this.#failure !== null && isRead && !this.#isCut) this.destroy(this.#failure)
  }

  override _transform(piece: Buffer, _: BufferEncoding, next: TransformCallback): void {
    if (!this.#isCut && piece.length > 0) this.#pass(piece)
    next()
  }

  #pass(piece: Buffer): void {
    this.#flowed()
    const last = this.#last
    const lineEnd = last === null ? -1 : piece.indexOf(NEWLINE)
    if (last === null || lineEnd === -1) {
      this.#isAtLineEnd = piece[piece.length - 1] === NEWLINE
      this.push(piece)
      return
    }
    this.push(piece.subarray(0, lineEnd + 1))
    this.#finish(last)
  }

  #finish({ line, done }: LastLine): void {
    this.#isCut = true
    if (line.length > 0) this.push(line)
    this.push(null)
    done()
  }

  #abandon(done: () => void): void {
    if (this.#isCut || this.destroyed) return
    this.#isCut = true
    this.destroy()
    done()
  }
}
