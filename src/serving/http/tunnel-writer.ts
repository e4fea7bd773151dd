// Writes to the client of a tunnel (contract 13.3): more than one piece at a time, and none for a client that reads nothing.
import type { Readable, Writable } from 'node:stream'

/**
 * Writes under way. While the first is being sent the second waits for it alone: Node joins further ones that wait, and a
 * TLS record is what some clients wait for.
 */
const MOST_WRITES = 2

/** Options of TunnelWriter. */
interface TunnelWriterOptions {
  /** A client that does not finish reading one write in this time counts as stalled; milliseconds. */
  readonly stalledMs: number
  /** Called then. */
  readonly stalled: () => void
}

/** Passes a stream on to a client. Not `pipeline`, which would destroy the other direction with the first end. */
export class TunnelWriter {
  readonly #to: Writable
  readonly #options: TunnelWriterOptions
  #from: Readable | null = null
  #writes = 0
  #timer: NodeJS.Timeout | null = null

  constructor(to: Writable, options: TunnelWriterOptions) {
    this.#to = to
    this.#options = options
    to.once('close', () => this.#stopTimer())
  }

  /** Writes these bytes, whatever waits. */
  write(bytes: Buffer): void {
    this.#writes += 1
    if (this.#writes >= MOST_WRITES) this.#from?.pause()
    this.#timer ??= setTimeout(this.#options.stalled, this.#options.stalledMs).unref()
    this.#to.write(bytes, (error) => error ?? this.#written())
  }

  /** Writes all that the stream has. Its end ends the connection to the client. */
  passFrom(from: Readable): void {
    this.#from = from
    from.on('data', (piece: Buffer) => {
      if (this.#to.writable) this.write(piece)
    })
    from.once('end', () => this.#to.end())
  }

  #written(): void {
    this.#writes -= 1
    if (this.#writes === 0) this.#stopTimer()
    else this.#timer?.refresh()
    this.#from?.resume()
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
