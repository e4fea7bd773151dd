// Where copies of bodies come from: a request while its reader reads it, an answer while it streams (contract 21.4, 22.2).
import type { Readable } from 'node:stream'
import type { CopiedBody } from '../../domain/audit/bodies/parsed-body.ts'
import { PassedBody } from '../streams/passed-body.ts'
import type { BodyCopy } from './body-copy.ts'

/**
 * Copies what the reader of a request takes from its body, from now on. No listener and no stream in between, which would
 * begin to read the body of a request that is refused, or read on where its reader waits.
 */
export function copyWhileRead(body: Readable, copy: BodyCopy): void {
  const emit = body.emit.bind(body)
  body.emit = (event: string | symbol, ...values: unknown[]): boolean => {
    if (event === 'data' && Buffer.isBuffer(values[0])) copy.add(values[0])
    else if (event === 'end') copy.end()
    else if (event === 'error' || event === 'close') copy.breakOff()
    return emit(event, ...values)
  }
}

/** A body that is in memory anyway. */
export const copyOf = (bytes: Buffer, limit: number): CopiedBody =>
  bytes.length > limit ? { omitted: 'size' } : { bytes }

/** What a HeldEndBody needs besides its source. */
interface HeldEnd {
  readonly copy: BodyCopy
  /** The content-length of the answer; null = none, and the end is a chunk of its own. */
  readonly contentLength: number | null
  /**
   * Called once, when nothing more will come: the body has arrived whole, has failed, or its reader has left. The first
   * waits for it; a rejection then cuts the body.
   */
  readonly beforeEnd: (isWhole: boolean) => Promise<void>
}

/**
 * The same body, whose end is held back until its record is written: with a content-length its last byte too, as the client
 * would take it for the end. A failure of the source follows what arrived before.
 */
export class HeldEndBody extends PassedBody {
  readonly #end: HeldEnd
  #left: number | null
  #held: Buffer | null = null
  #isOver = false

  constructor(source: Readable, end: HeldEnd) {
    super(source)
    this.#end = end
    this.#left = end.contentLength
    this.endWithSource()
  }

  protected override pass(piece: Buffer): boolean {
    this.#end.copy.add(piece)
    this.#pushHeld()
    if (this.#left === null) return this.push(piece)
    this.#left -= piece.length
    if (this.#left > 0 || piece.length === 0) return this.push(piece)
    this.#left = null
    this.#held = piece.subarray(-1)
    return piece.length === 1 || this.push(piece.subarray(0, -1))
  }

  protected override arrived(): void {
    this.#end.copy.end()
    this.#over(true)
  }

  protected override brokeOff(): void {
    this.#over(false)
  }

  #over(isWhole: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!isWhole) this.#end.copy.breakOff()
    this.#end.beforeEnd(isWhole).then(
      () => isWhole && this.#release(),
      (cause: Error) => isWhole && this.destroy(cause),
    )
  }

  #release(): void {
    this.#pushHeld()
    this.push(null)
  }

  #pushHeld(): void {
    if (this.#held !== null) this.push(this.#held)
    this.#held = null
  }
}
