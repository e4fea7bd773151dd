// The frames of a WebSocket, counted but not read: a close frame of the gateway must follow a whole frame (13.4).

/** Maximum bytes of the reason in a close frame: a control frame has 125 bytes, of which the code takes two. */
const LONGEST_REASON = 123

/** Policy violation (RFC 6455, 7.4.1). */
const CLOSE_CODE = 1008

/** The close frame of a server. @param reason cut after 123 bytes of ASCII */
export function closeFrame(reason: string): Buffer {
  const text = Buffer.from(reason, 'ascii').subarray(0, LONGEST_REASON)
  const head = Buffer.from([0x88, text.length + 2, CLOSE_CODE >> 8, CLOSE_CODE & 0xff])
  return Buffer.concat([head, text])
}

/** Follows the frames in one direction of a connection. */
export class FrameCounter {
  /** Bytes of the head that have been read; 0 = none, or the head is complete. */
  #headRead = 0
  /** Bytes of the length, and of length and mask, that are still to come in the head. */
  #lengthLeft = 0
  #headLeft = 0
  /** The bytes of the payload that are still to come. A length above 2^53 is inexact: no connection passes as much. */
  #payload = 0

  /** Whether the next byte begins a frame. */
  get isAtBoundary(): boolean {
    return this.#payload === 0 && this.#headRead === 0
  }

  /**
   * Reads the chunk from this byte on, up to its end, or up to the first frame that ends in it.
   *
   * @returns the number of bytes read
   */
  readToBoundary(chunk: Buffer, from = 0): number {
    let at = from
    while (at < chunk.length) {
      if (this.#headRead === 0 && this.#payload > 0) {
        const taken = Math.min(this.#payload, chunk.length - at)
        this.#payload -= taken
        at += taken
      } else {
        this.#readHead(chunk[at] ?? 0)
        at += 1
      }
      if (this.isAtBoundary) break
    }
    return at - from
  }

  #readHead(byte: number): void {
    this.#headRead += 1
    if (this.#headRead === 1) {
      this.#payload = 0
      return
    }
    if (this.#headRead === 2) {
      const short = byte & 0x7f
      this.#lengthLeft = short === 127 ? 8 : short === 126 ? 2 : 0
      this.#headLeft = this.#lengthLeft + (byte & 0x80 ? 4 : 0)
      if (this.#lengthLeft === 0) this.#payload = short
    } else {
      this.#headLeft -= 1
      if (this.#lengthLeft > 0) {
        this.#lengthLeft -= 1
        this.#payload = this.#payload * 256 + byte
      }
    }
    if (this.#headLeft === 0) this.#headRead = 0
  }
}
