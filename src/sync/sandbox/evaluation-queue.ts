// The order in which expressions are evaluated: what takes long waits behind all that does not (contract 19.4).
import type { EvaluationRequest } from './protocol.ts'

/** A request with the time that it gets. */
export interface QueuedEvaluation {
  readonly request: EvaluationRequest
  /** A slice of it ends only the wait of others; null = all the time that there is. */
  readonly sliceMs: number | null
}

/** Objects that are known for each expression; the oldest are forgotten. */
const MOST_OBJECTS = 10_000

/**
 * Three queues. First come slices of what has broken no bound; then, with all of its time, what has overrun its slice;
 * last what has broken a bound before, for the same object and expression, until it succeeds.
 */
export class EvaluationQueue {
  readonly #sliceMs: number
  readonly #first: EvaluationRequest[] = []
  readonly #second: EvaluationRequest[] = []
  readonly #last: EvaluationRequest[] = []
  /** Objects by the source of the expression. */
  readonly #broken = new Map<string, Set<string>>()

  /** @param sliceMs what an expression gets, in milliseconds, before others take their turn */
  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs
  }

  /** @returns whether it waits behind those that have broken no bound */
  add(request: EvaluationRequest): boolean {
    const isLast = this.#broken.get(request.source)?.has(request.object) ?? false
    const queue = isLast ? this.#last : this.#first
    queue.push(request)
    return isLast
  }

  /** Adds one again whose slice was too short. */
  addAgain(request: EvaluationRequest): void {
    this.#second.push(request)
  }

  /** Takes the next; null = none waits. */
  shift(): QueuedEvaluation | null {
    const first = this.#first.shift()
    if (first) return { request: first, sliceMs: this.#sliceMs }
    const request = this.#second.shift() ?? this.#last.shift()
    return request ? { request, sliceMs: null } : null
  }

  /** It has broken a bound, or has ended the thread. */
  broke({ source, object }: EvaluationRequest): void {
    const objects = this.#broken.get(source) ?? new Set()
    this.#broken.set(source, objects)
    const [oldest] = objects
    if (objects.size >= MOST_OBJECTS && oldest !== undefined) objects.delete(oldest)
    objects.add(object)
  }

  /** It has kept within its bounds. */
  kept({ source, object }: EvaluationRequest): void {
    const objects = this.#broken.get(source)
    if (objects?.delete(object) && objects.size === 0) this.#broken.delete(source)
  }

  /** Drops all that wait. */
  clear(): void {
    for (const queue of [this.#first, this.#second, this.#last]) queue.length = 0
  }
}
