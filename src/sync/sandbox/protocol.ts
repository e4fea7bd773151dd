// What the sandbox's worker is asked, and what it answers. Values cross as JSON texts.
import type { HostPlace } from '../rules/host-name.ts'

/** The bounds of one evaluation (contract 19.4). */
export const BOUNDS = {
  /** Wall clock from the request to the answer, in milliseconds; the worker is killed then. */
  wallMs: 100,
  /** The engine stops by itself a little earlier, which spares the worker. */
  interruptMs: 90,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 512 * 1024,
  /** Of the result, in characters of JSON. */
  resultLength: 1024 * 1024,
  /** Objects and lists within each other. */
  resultLevels: 100,
} as const

/** The times of BOUNDS. */
export type TimeBounds = Readonly<Record<'wallMs' | 'interruptMs', number>>

/** One evaluation of a checked expression. */
export interface EvaluationRequest {
  readonly source: string
  /** JSON of the variable `value`. */
  readonly value: string
  /** JSON of the variable `context` without its path; the same text for all fields of an object. */
  readonly context: string
  /** The path in `context`. */
  readonly path: string
  readonly place: HostPlace
}

/** The result of an evaluation: a value as JSON, the removal of the field, or a failure. */
export type EvaluationResult =
  | { readonly kind: 'value'; readonly json: string }
  | { readonly kind: 'remove' }
  | Failure

/** A failed evaluation. */
export interface Failure {
  readonly kind: 'failed'
  /** A clause that holds nothing of the values that the expression has read. */
  readonly because: string
  /** The message of the expression's own error, which may hold such values; empty without one. */
  readonly detail: string
  /** Whether another try may succeed: it took too long, as on a busy machine, or the sandbox itself failed. */
  readonly isTransient: boolean
}

/** Evaluates an expression; never rejects. */
export type Evaluate = (request: EvaluationRequest) => Promise<EvaluationResult>

/** A failure without a message of the expression's own, which the same request has again each time. */
export const failed = (because: string): Failure => ({
  kind: 'failed',
  because,
  detail: '',
  isTransient: false,
})

/** A failure that another try may not have. */
export const failedForNow = (because: string): Failure => ({
  ...failed(because),
  isTransient: true,
})

/** The failure of an evaluation that took too long. */
export const OVERRUN: Failure = failedForNow(`it took longer than ${BOUNDS.wallMs} ms`)

/** A message of the worker. After one with `isBroken` the worker can not be used any more. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly result: EvaluationResult; readonly isBroken: boolean }
