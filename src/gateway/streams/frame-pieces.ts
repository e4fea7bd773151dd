// Cuts what has arrived on a tunnel into pieces that are written at once (contract 13.2, 13.3).
import { FrameCounter } from './websocket-frames.ts'

/** Maximum bytes of one write, so that even a client that reads slowly finishes each in time. */
const MOST_OF_WRITE = 65_536

/** Maximum bytes of a TLS record. */
const RECORD_BYTES = 16_384

/** Maximum pieces of one chunk, however many frames it has: each piece costs a TLS record and a turn of the event loop. */
const MOST_PIECES_OF_CHUNK = 16

/** Bytes of a chunk that follow each other. */
interface Piece {
  readonly bytes: Buffer
  /** Whether a frame ends with it. */
  readonly endsFrame: boolean
  /** The length of the chunk if it is the last piece of it, else 0. */
  readonly chunkEnded: number
}

/**
 * Chunks that wait, handed out as the bytes of one write after the other. No two frames of a WebSocket end in one TLS
 * record: clients that poll their socket, such as Python's, would miss the second frame of a record that they have read.
 */
export class FramePieces {
  readonly #frames: FrameCounter | null
  /** Called with the length of each chunk that has been handed out whole. */
  readonly #left: (length: number) => void
  #chunks: Buffer[] = []
  #at = 0
  #piecesOfChunk = 0
  /** Read by the counter, and not handed out yet. */
  #next: Piece | null = null
  #isAtBoundary = true

  constructor(isWebSocket: boolean, left: (length: number) => void) {
    this.#frames = isWebSocket ? new FrameCounter() : null
    this.#left = left
  }

  /** Whether the bytes handed out so far end with a whole frame; false without frames. */
  get isAtBoundary(): boolean {
    return this.#frames !== null && this.#isAtBoundary
  }

  /** Whether there are frames. */
  get hasFrames(): boolean {
    return this.#frames !== null
  }

  add(chunk: Buffer): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
    else this.#left(0)
  }

  /** Drops what has not been handed out. */
  clear(): void {
    this.#chunks = []
    this.#next = null
  }

  /** The bytes of the next write; null = nothing waits. */
  take(): Buffer | null {
    const taken: Buffer[] = []
    let size = 0
    // The start of a frame may follow the end of another: its own end is then in a later record.
    let lastEnd = -RECORD_BYTES
    for (;;) {
      const piece = (this.#next ??= this.#cut())
      if (piece === null || (size > 0 && size + piece.bytes.length > MOST_OF_WRITE)) break
      if (piece.endsFrame && size + piece.bytes.length - lastEnd < RECORD_BYTES) break
      taken.push(this.#handOut(piece))
      size += piece.bytes.length
      if (piece.endsFrame) lastEnd = size
    }
    return taken.length > 1 ? Buffer.concat(taken, size) : (taken[0] ?? null)
  }

  /** The bytes up to the end of the frame that is under way, or of the chunk; null = nothing waits. */
  takeToBoundary(): Buffer | null {
    const piece = (this.#next ??= this.#cut())
    return piece && this.#handOut(piece)
  }

  #handOut(piece: Piece): Buffer {
    this.#next = null
    this.#isAtBoundary = piece.endsFrame
    if (piece.chunkEnded > 0) this.#left(piece.chunkEnded)
    return piece.bytes
  }

  #cut(): Piece | null {
    const [chunk] = this.#chunks
    if (chunk === undefined) return null
    const from = this.#at
    this.#piecesOfChunk += 1
    this.#at = this.#endOfPiece(chunk)
    const isLast = this.#at === chunk.length
    if (isLast) {
      this.#chunks.shift()
      this.#at = 0
      this.#piecesOfChunk = 0
    }
    return {
      bytes: from === 0 && isLast ? chunk : chunk.subarray(from, isLast ? undefined : this.#at),
      endsFrame: this.#frames?.isAtBoundary ?? false,
      chunkEnded: isLast ? chunk.length : 0,
    }
  }

  /** The end of the piece that begins at this place of the chunk; the last allowed piece takes the whole rest. */
  #endOfPiece(chunk: Buffer): number {
    if (this.#frames === null) return chunk.length
    let end = this.#at + this.#frames.readToBoundary(chunk, this.#at)
    if (this.#piecesOfChunk < MOST_PIECES_OF_CHUNK) return end
    while (end < chunk.length) end += this.#frames.readToBoundary(chunk, end)
    return end
  }
}
