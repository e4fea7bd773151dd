import { Transform, type TransformCallback } from 'node:stream'

const NEWLINE = 0x0a

/**
 * Passes the lines of a watch on, whole ones only: where it is cut, what follows is a line of ours and
 * not the rest of one of theirs (contract 13.4).
 */
export class WatchLines extends Transform {
  readonly #flowed: () => void
  #rest: Buffer[] = []
  #isCut = false

  /** @param flowed told of each piece that passes */
  constructor(flowed: () => void) {
    super()
    this.#flowed = flowed
  }

  /** Whether it was cut. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Ends with this line, which may be empty; nothing of the source passes any more. */
  cut(line: Buffer): void {
    if (this.#isCut || this.writableFinished || this.destroyed) return
    this.#isCut = true
    this.#rest = []
    if (line.length > 0) this.push(line)
    this.push(null)
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#isCut) {
      done()
      return
    }
    this.#flowed()
    const end = piece.lastIndexOf(NEWLINE) + 1
    const whole = end === 0 ? [] : [...this.#rest, piece.subarray(0, end)]
    if (end > 0) this.#rest = []
    if (end < piece.length) this.#rest.push(piece.subarray(end))
    if (whole.length > 0) this.push(whole.length === 1 ? whole[0] : Buffer.concat(whole))
    done()
  }

  override _flush(done: TransformCallback): void {
    // What the API server broke off in a line is passed as it is: it is its word, not ours.
    if (!this.#isCut) for (const piece of this.#rest) this.push(piece)
    done()
  }
}
