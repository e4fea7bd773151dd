// A body that breaks off only after its reader has what arrived before (contract 13.3).
import { Readable } from 'node:stream'

/** A body whose bytes are pushed as they arrive. */
export class ReceivedBody extends Readable {
  #failure: Error | null = null
  #hasEnded = false

  constructor() {
    super()
    // A reader gets the error anyway; without any reader Node would throw it.
    this.on('error', () => undefined)
  }

  /** Fails the body once its reader has read all bytes that have arrived. */
  breakOffAfterRest(cause: Error): void {
    this.#failure ??= cause
    this.#failWhenRead()
  }

  /** Whether `endHere` has ended the body. */
  protected get hasEndedHere(): boolean {
    return this.#hasEnded
  }

  /** Ends the body after what has been pushed. Whether more was to come, or it broke off, no longer counts. */
  protected endHere(): void {
    this.#hasEnded = true
    this.push(null)
  }

  override read(size?: number): Buffer | null {
    const bytes = super.read(size) as Buffer | null
    // Only then: the reader gets the bytes after this call.
    if (this.#failure !== null) process.nextTick(() => this.#failWhenRead())
    return bytes
  }

  #failWhenRead(): void {
    if (this.#failure === null || this.#hasEnded) return
    if (this.readableLength === 0) this.destroy(this.#failure)
  }
}

/** Takes what a stream holds, which after its end by an error it would never hand out. */
export function takeRest(source: Readable, take: (bytes: Buffer) => void): void {
  for (;;) {
    const bytes = source.read() as Buffer | null
    if (bytes === null) return
    take(bytes)
  }
}
