// Reads the DATA frames of HTTP/2 in turns of the event loop. A server may send each byte in a frame of its own, and Node
// hands each frame on as it comes: two million of them in one turn, which it keeps one by one while no one reads them.
import type { ClientHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'

/** Maximum frames of a connection that are read in one turn, except frames that were received together with the last. */
const MOST_IN_TURN = 256
/** Frames that are kept one by one; more are joined. */
const MOST_APART = 64
/** Maximum bytes that are held back for the next turn; after these the server waits. */
const MOST_HELD_BYTES = 65_536

/** Node has no public method for this: a connection that HTTP/2 reads can't be paused by its socket. */
interface ReadHandle {
  readonly readStop: () => number
  readonly readStart: () => number
}

/** Counts the frames of a connection; one that has had its share of a turn is read on in the next turn. */
export class FramesInTurn {
  readonly #socket: TLSSocket & { readonly _handle?: ReadHandle | null }
  #count = 0

  constructor(socket: TLSSocket) {
    this.#socket = socket
  }

  /** A frame has arrived. */
  add(): void {
    this.#count += 1
    if (this.#count !== MOST_IN_TURN) return
    this.#handle()?.readStop()
    setImmediate(() => {
      this.#count = 0
      this.#handle()?.readStart()
    })
  }

  /** null or undefined = the socket is closed. */
  #handle(): ReadHandle | null | undefined {
    const { _handle: handle } = this.#socket
    return handle
  }
}

/**
 * Joins the frames of a stream before Node's stream gets them: the first of a turn passes at once, the others together in
 * the next turn, and none while the reader has enough.
 */
export class JoinedFrames {
  readonly #stream: ClientHttp2Stream
  readonly #push: (bytes: Buffer | null) => boolean
  #joined: Buffer[] = []
  #apart: Buffer[] = []
  #heldBytes = 0
  #isTurnTaken = false
  #isFull = false

  /** @param arrived called for each frame */
  constructor(stream: ClientHttp2Stream, arrived: () => void) {
    this.#stream = stream
    this.#push = stream.push.bind(stream)
    stream.push = (bytes: Buffer | null) => {
      if (bytes !== null) {
        arrived()
        return this.#take(bytes)
      }
      this.#passHeld()
      return this.#push(null)
    }
  }

  /** The reader has enough: what arrives is held. */
  hold(): void {
    this.#isFull = true
  }

  /** The reader takes more. */
  release(): void {
    this.#isFull = false
    if (!this.#isTurnTaken) this.#passHeld()
  }

  /** The bytes that are held; they no longer reach a stream that has failed. */
  takeHeld(): Buffer {
    this.#join()
    const bytes = Buffer.concat(this.#joined)
    this.#joined = []
    this.#heldBytes = 0
    return bytes
  }

  /** A destroyed stream takes no more bytes: `takeHeld` returns them then. */
  #passHeld(): void {
    if (this.#heldBytes > 0 && !this.#stream.destroyed) this.#push(this.takeHeld())
  }

  /** @returns whether the server may send more */
  #take(bytes: Buffer): boolean {
    if (!this.#isTurnTaken && !this.#isFull) {
      this.#takeTurn()
      return this.#push(bytes)
    }
    this.#apart.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#apart.length >= MOST_APART) this.#join()
    return !this.#isFull && this.#heldBytes < MOST_HELD_BYTES
  }

  #takeTurn(): void {
    this.#isTurnTaken = true
    setImmediate(() => {
      this.#isTurnTaken = false
      if (!this.#isFull) this.#passHeld()
    })
  }

  #join(): void {
    this.#joined.push(Buffer.concat(this.#apart))
    this.#apart = []
  }
}
