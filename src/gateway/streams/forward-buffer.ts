// The memory that tunnels hold of what their clients have not read yet (contract 13.3): a limit for each session, and one
// for all. The fuller the buffer, the less a session gets, so that there is always room for one more.

/** Limit of one session in bytes: what an API server may still have to send when it closes, on a busy machine. */
const MOST_OF_SESSION = 8 * 1024 ** 2

/** A session gets at most the free bytes divided by this. */
const FREE_DIVISOR = 8

/** Bytes that each chunk counts beyond its length, so that tiny chunks are limited in number, too. */
const CHUNK_OVERHEAD = 512

/** Counts the bytes that all tunnels of this replica hold. */
export class ForwardBuffer {
  readonly #most: number
  #held = 0

  /** @param most the limit for all sessions, in bytes */
  constructor(most: number) {
    this.#most = most
  }

  /** The bytes that all sessions hold. */
  get held(): number {
    return this.#held
  }

  /** How many bytes one session may hold now. */
  get mostOfSession(): number {
    return Math.max(0, Math.min(MOST_OF_SESSION, (this.#most - this.#held) / FREE_DIVISOR))
  }

  /** The share of a new session, with no bytes yet. */
  share(): ForwardShare {
    return new ForwardShare(this, (bytes) => (this.#held += bytes))
  }
}

/** The bytes that one session holds. It may hold one chunk even when there is no room: else it would stand still. */
export class ForwardShare {
  readonly #buffer: ForwardBuffer
  readonly #count: (bytes: number) => void
  #held = 0

  /** @param count adds to the bytes of all sessions */
  constructor(buffer: ForwardBuffer, count: (bytes: number) => void) {
    this.#buffer = buffer
    this.#count = count
  }

  /** Whether no more may be read from the connection. */
  get isFull(): boolean {
    return this.#held > 0 && this.#held >= this.#buffer.mostOfSession
  }

  /** Whether reading goes on after it has been full: half of the session's limit is free again. */
  get hasRoom(): boolean {
    return this.#held <= this.#buffer.mostOfSession / 2
  }

  /** Adds a chunk of this length. */
  take(length: number): void {
    this.#add(length + CHUNK_OVERHEAD)
  }

  /** Removes a chunk of this length. */
  give(length: number): void {
    this.#add(-(length + CHUNK_OVERHEAD))
  }

  /** Removes everything. */
  release(): void {
    this.#add(-this.#held)
  }

  #add(bytes: number): void {
    this.#held += bytes
    this.#count(bytes)
  }
}
