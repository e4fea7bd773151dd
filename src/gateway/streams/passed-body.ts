// Bodies that are passed on as they arrive (contract 13.3, 14.1).
import type { Readable } from 'node:stream'
import { BodyCut } from '../../serving/http/answer.ts'
import { ReceivedBody, takeRest } from '../../kube/proxy/received-body.ts'

/** The same body, with back-pressure. A failure of the source follows what arrived before, a cut does not wait for that. */
export class PassedBody extends ReceivedBody {
  readonly #source: Readable
  readonly #take = (piece: Buffer): void => {
    if (!this.pass(piece)) this.#source.pause()
  }

  constructor(source: Readable) {
    super()
    this.#source = source
    source.on('data', this.#take)
    source.once('end', () => this.arrived())
    source.once('error', (cause: Error) => this.#fail(cause))
    source.once('close', () => this.#fail(new Error('the body broke off')))
  }

  /** Passes on a piece. @returns whether the reader takes more */
  protected pass(piece: Buffer): boolean {
    return this.push(piece)
  }

  /** The body has arrived whole. */
  protected arrived(): void {
    this.push(null)
  }

  /** Nothing more will come of a body that has not arrived whole. */
  protected brokeOff(): void {}

  /** For a source that may have ended or failed already: Node emits no second event. */
  protected endWithSource(): void {
    const { destroyed, errored, readableEnded } = this.#source
    if (readableEnded) this.arrived()
    else if (destroyed) this.#fail(errored ?? new Error('the body broke off'))
  }

  /** The rest of the source is not read. */
  protected override endHere(): void {
    super.endHere()
    this.#source.destroy()
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy()
    this.brokeOff()
    done(error)
  }

  #fail(cause: Error): void {
    if (this.#source.readableEnded || this.destroyed) return
    if (cause instanceof BodyCut) {
      this.destroy(cause)
      return
    }
    // Before the source has reported its end, its `read` also emits the bytes.
    this.#source.off('data', this.#take)
    takeRest(this.#source, (bytes) => this.pass(bytes))
    this.brokeOff()
    this.breakOffAfterRest(cause)
  }
}

/** The same body; calls `flowed` for each chunk. */
export class ObservedBody extends PassedBody {
  readonly #flowed: () => void

  constructor(source: Readable, flowed: () => void) {
    super(source)
    this.#flowed = flowed
    this.endWithSource()
  }

  protected override pass(piece: Buffer): boolean {
    this.#flowed()
    return super.pass(piece)
  }
}
