// The frames of a WebSocket, counted but not read: a close frame of the gateway must follow a whole frame (13.4).

/** Most bytes of the reason in a close frame: a control frame has 125 bytes, of which the code takes two. */
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
  /** The bytes of a head that is not complete yet. */
  #head: number[] = []
  /** The bytes of the payload that are still to come. */
  #payload = 0n

  /** Whether the next byte begins a frame. */
  get isAtBoundary(): boolean {
    return this.#payload === 0n && this.#head.length === 0
  }

  /**
   * Reads the chunk up to its end, or up to the first frame that ends in it.
   *
   * @returns the number of bytes read
   */
  readToBoundary(chunk: Buffer): number {
    let at = 0
    while (at < chunk.length) {
      if (this.#payload > 0n) {
        const rest = BigInt(chunk.length - at)
        const taken = this.#payload < rest ? this.#payload : rest
        this.#payload -= taken
        at += Number(taken)
      } else {
        this.#head.push(chunk[at] ?? 0)
        at += 1
        this.#readHead()
      }
      if (this.isAtBoundary) return at
    }
    return at
  }

  #readHead(): void {
    const [, second] = this.#head
    if (second === undefined) return
    const short = second & 0x7f
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
    const maskBytes = second & 0x80 ? 4 : 0
    if (this.#head.length < 2 + lengthBytes + maskBytes) return
    const length = this.#head.slice(2, 2 + lengthBytes)
    this.#payload =
      lengthBytes === 0
        ? BigInt(short)
        : length.reduce((sum, byte) => (sum << 8n) + BigInt(byte), 0n)
    this.#head = []
  }
}
