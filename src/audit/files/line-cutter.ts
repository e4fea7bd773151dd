// Lines out of bytes that arrive in pieces, each line with its place in the file.

/** Longer than any line of the log; in bytes. */
const LONGEST_LINE_BYTES = 8 * 1024 * 1024

/** A line. */
export interface CutLine {
  /** Without its line feed; null = it is longer than LONGEST_LINE_BYTES. */
  readonly text: string | null
  /** With its line feed. */
  readonly bytes: number
}

const LINE_FEED = 0x0a

/** Cuts lines; what has no line feed yet waits for more. */
export class LineCutter {
  #waiting: Buffer = Buffer.alloc(0)
  #from = 0
  /** Up to where there is no line feed. */
  #searched = 0
  /** Bytes of a line that is too long, which are dropped. */
  #dropped = 0

  add(bytes: Buffer): void {
    const rest = this.#waiting.subarray(this.#from)
    this.#searched -= this.#from
    this.#from = 0
    this.#waiting = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
  }

  /** The next line; null = there is no whole one. */
  take(): CutLine | null {
    const end = this.#waiting.indexOf(LINE_FEED, this.#searched)
    if (end === -1) {
      this.#searched = this.#waiting.length
      const isTooLong = this.#dropped > 0 || this.#searched - this.#from > LONGEST_LINE_BYTES
      if (isTooLong) this.#drop(this.#searched)
      return null
    }
    return this.#cut(end, end + 1)
  }

  /** The rest without a line feed, once no more bytes come; null = there is none. */
  takeRest(): CutLine | null {
    const end = this.#waiting.length
    return end === this.#from && this.#dropped === 0 ? null : this.#cut(end, end)
  }

  #cut(end: number, next: number): CutLine {
    const isTooLong = this.#dropped > 0 || end - this.#from > LONGEST_LINE_BYTES
    const line = {
      text: isTooLong ? null : this.#waiting.toString('utf8', this.#from, end),
      bytes: next - this.#from + this.#dropped,
    }
    this.#from = next
    this.#searched = next
    this.#dropped = 0
    return line
  }

  #drop(end: number): void {
    this.#dropped += end - this.#from
    this.#from = end
  }
}
