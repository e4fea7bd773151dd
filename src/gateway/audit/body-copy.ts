// A copy of a body that passes, bounded by length and by the memory of all copies (contract 21.4).
import type { CopiedBody } from '../../domain/audit/bodies/parsed-body.ts'
import type { CopyBudget } from './copy-budget.ts'

/** The first bytes that a copy takes from the budget; it doubles what it holds when that is full. */
const SMALLEST = 4096

const NO_BYTES = Buffer.alloc(0)

/** Where a copy is. */
type CopyState = 'unread' | 'arriving' | 'complete' | GivenUp

type GivenUp = 'incomplete' | 'size' | 'memory'

/** The states of a copy that is not given up. */
const HOLDING: ReadonlySet<CopyState> = new Set(['unread', 'arriving', 'complete'])

/**
 * Copies the pieces of one body into memory of its own: a piece may be a small part of a large one. Its memory
 * counts until `release`, which may be called repeatedly; a copy that is given up releases by itself.
 */
export class BodyCopy {
  readonly #limit: number
  readonly #budget: CopyBudget
  readonly #isTooLong: boolean
  #bytes: Buffer = NO_BYTES
  #length = 0
  #state: CopyState = 'unread'

  /**
   * @param limit the most bytes of a body that is recorded
   * @param contentLength as its header says: nothing is copied of a body that will be too long; null = unknown
   */
  constructor(limit: number, budget: CopyBudget, contentLength: number | null = null) {
    this.#limit = limit
    this.#budget = budget
    this.#isTooLong = contentLength !== null && contentLength > limit
  }

  /** The body as far as it has passed. The bytes are valid until `release`. */
  get body(): CopiedBody {
    const state = this.#state
    if (state === 'complete') return { bytes: this.#bytes.subarray(0, this.#length) }
    return { omitted: state === 'arriving' ? 'incomplete' : state }
  }

  /** A body passes from now on, even if none of its bytes come. */
  begin(): void {
    if (this.#state === 'unread') this.#state = 'arriving'
  }

  /** Adds bytes that have passed. */
  add(piece: Buffer): void {
    this.begin()
    if (this.#state !== 'arriving') return
    const length = this.#length + piece.length
    if (this.#isTooLong || length > this.#limit) return this.#giveUp('size')
    if (length > this.#bytes.length && !this.#grow(length)) return this.#giveUp('memory')
    piece.copy(this.#bytes, this.#length)
    this.#length = length
  }

  /** All has passed. */
  end(): void {
    if (this.#state === 'unread' || this.#state === 'arriving') this.#state = 'complete'
  }

  /** No more will pass. Without effect after the end. */
  breakOff(): void {
    if (this.#state === 'arriving') this.#giveUp('incomplete')
  }

  /** Gives the memory back. Later pieces are not copied. */
  release(): void {
    if (HOLDING.has(this.#state)) this.#giveUp('incomplete')
  }

  #grow(least: number): boolean {
    const size = Math.min(Math.max(least, 2 * this.#bytes.length, SMALLEST), this.#limit)
    if (!this.#budget.take(size - this.#bytes.length)) return false
    const bytes = Buffer.allocUnsafeSlow(size)
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
    return true
  }

  #giveUp(state: GivenUp): void {
    this.#state = state
    this.#budget.give(this.#bytes.length)
    this.#bytes = NO_BYTES
    this.#length = 0
  }
}
