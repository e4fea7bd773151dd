// A forwarded body, with a call for each chunk of it (contract 13.3, 14.1).
import type { Readable } from 'node:stream'
import { ReceivedBody, takeRest } from '../../kube/proxy/received-body.ts'

/** The same body; calls `flowed` for each chunk. A failure of the source follows what arrived before. */
export class ObservedBody extends ReceivedBody {
  readonly #source: Readable

  constructor(source: Readable, flowed: () => void) {
    super()
    this.#source = source
    source.on('data', (piece: Buffer) => {
      flowed()
      if (!this.push(piece)) source.pause()
    })
    source.once('end', () => this.push(null))
    const fail = (cause: Error): void => {
      if (source.readableEnded || this.destroyed) return
      takeRest(source, (bytes) => this.push(bytes))
      this.breakOffAfterRest(cause)
    }
    source.once('error', fail)
    source.once('close', () => fail(new Error('the body broke off')))
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy()
    done(error)
  }
}
