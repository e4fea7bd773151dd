// Reads a tunnel ahead of its client (contract 13.3): an API server closes the connection once it has written everything,
// and what has not been read by then is lost.
import { Readable } from 'node:stream'
import { takeRest } from '../../kube/proxy/received-body.ts'
import type { ForwardShare } from './forward-buffer.ts'
import { FramePieces } from './frame-pieces.ts'

/** How long a cut waits for the end of the current frame, before it cuts within the frame; milliseconds. */
const BOUNDARY_WITHIN_MS = 200

/** Options of a look-ahead. */
interface LookAheadOptions {
  /** Whether the connection is a WebSocket, whose frames are not joined in one TLS record. */
  readonly isWebSocket: boolean
  readonly share: ForwardShare
  /** Called for each chunk that arrives. */
  readonly flowed: () => void
}

/**
 * What a connection has sent, for a client that reads it later. It ends after the last byte that arrived, also when the
 * connection broke: the protocols in a tunnel have ends of their own, by which clients see that something is missing.
 */
export class LookAheadStream extends Readable {
  readonly #source: Readable
  readonly #share: ForwardShare
  readonly #pieces: FramePieces
  readonly #flowed: () => void
  /** At first too: a client that reads late gets what had arrived before a cut. */
  #isWanted = true
  #isSourceOver = false
  #lastFrame: { readonly frame: Buffer; readonly done: () => void } | null = null
  #isFinished = false

  constructor(source: Readable, { isWebSocket, share, flowed }: LookAheadOptions) {
    super({ highWaterMark: 1 })
    this.#source = source
    this.#share = share
    this.#flowed = flowed
    this.#pieces = new FramePieces(isWebSocket, (length) => share.give(length))
    source.on('data', (chunk: Buffer) => this.#arrived(chunk))
    source.once('end', () => this.#over())
    source.on('error', () => this.#over())
    source.once('close', () => this.#over())
  }

  /** Ends the stream with `frame` once the current frame is complete, or at once without frames; then calls `done`. */
  cut(frame: Buffer, done: () => void): void {
    if (this.#isFinished || this.#lastFrame !== null) return
    if (!this.#pieces.hasFrames) this.#finish(null, done)
    else if (this.#pieces.isAtBoundary) this.#finish(frame, done)
    else {
      this.#lastFrame = { frame, done }
      setTimeout(() => this.#finish(null, done), BOUNDARY_WITHIN_MS).unref()
      this.#source.resume()
      this.#pass()
    }
  }

  override _read(): void {
    this.#isWanted = true
    this.#pass()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#isFinished = true
    this.#drop()
    done(error)
  }

  #arrived(chunk: Buffer): void {
    if (this.#isFinished) return
    this.#flowed()
    this.#add(chunk)
    this.#pass()
    if (this.#share.isFull && this.#lastFrame === null) this.#source.pause()
  }

  #add(chunk: Buffer): void {
    this.#share.take(chunk.length)
    this.#pieces.add(chunk)
  }

  /** The source has ended or broken. It may hold bytes that it would never hand out after an error. */
  #over(): void {
    if (this.#isSourceOver || this.#isFinished) return
    this.#isSourceOver = true
    takeRest(this.#source, (rest) => this.#add(rest))
    this.#pass()
  }

  #pass(): void {
    if (this.#lastFrame !== null) this.#passToBoundary(this.#lastFrame)
    if (!this.#isWanted || this.#isFinished) return
    const bytes = this.#pieces.take()
    if (bytes !== null) {
      this.#isWanted = false
      this.push(bytes)
      if (this.#source.isPaused() && this.#share.hasRoom) this.#source.resume()
    } else if (this.#isSourceOver) {
      this.#isFinished = true
      this.push(null)
    }
  }

  #passToBoundary({ frame, done }: { readonly frame: Buffer; readonly done: () => void }): void {
    while (!this.#isFinished) {
      if (this.#pieces.isAtBoundary) {
        this.#finish(frame, done)
        return
      }
      const bytes = this.#pieces.takeToBoundary()
      if (bytes === null) return
      this.push(bytes)
    }
  }

  #finish(frame: Buffer | null, done: () => void): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#drop()
    if (frame === null) this.destroy()
    else {
      this.push(frame)
      this.push(null)
    }
    done()
  }

  #drop(): void {
    this.#pieces.clear()
    this.#share.release()
  }
}
