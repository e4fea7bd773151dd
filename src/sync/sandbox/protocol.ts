// What the sandbox's worker is asked, and what it answers. Values cross as JSON texts.
import type { HostPlace } from '../objects/host-name.ts'

/** The bounds of one evaluation (contract 19.4). */
export const BOUNDS = {
  /** Wall clock from the request to the answer, in milliseconds; the worker is killed then. */
  wallMs: 100,
  /** The engine stops by itself a little earlier, which spares the worker. */
  interruptMs: 90,
  /** What an expression gets at first: one that takes longer waits for all that do not. */
  sliceMs: 20,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 512 * 1024,
  /** Of the result, in characters of JSON. */
  resultLength: 1024 * 1024,
  /** Objects and lists within each other. */
  resultLevels: 100,
} as const

/** The times of BOUNDS. */
export type TimeBounds = Readonly<Record<'wallMs' | 'interruptMs' | 'sliceMs', number>>

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
  /** The object that is patched, as a text that no other one has: its result does not depend on it. */
  readonly object: string
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

/** The place of a caller among those that work at a time. */
interface CallerPlace {
  /** The request waits for long: another caller may work meanwhile. */
  readonly leave: () => void
  /** Resolves when the caller may go on. */
  readonly enter: () => Promise<void>
}

/** As Evaluate, for a caller whose place others may have while the request takes long; absent = it has none. */
export type SandboxEvaluate = (
  request: EvaluationRequest,
  place?: CallerPlace,
) => Promise<EvaluationResult>

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

/** The failure of an evaluation that needed too much memory. */
export const TOO_LARGE: Failure = failed(
  `it needs more than ${BOUNDS.memoryBytes / 1024 / 1024} MiB of memory`,
)

/** The clause about a result that is too long. */
export const RESULT_TOO_LARGE = `the result is larger than ${BOUNDS.resultLength / 1024 / 1024} MiB`

/** Whether the evaluation broke one of BOUNDS, or ended its thread. */
export const isBreach = (result: EvaluationResult): boolean =>
  result.kind === 'failed' &&
  (result.isTransient || [TOO_LARGE.because, RESULT_TOO_LARGE].includes(result.because))

/** What the worker is asked: it stops after so many milliseconds. */
export interface WorkerRequest {
  readonly request: EvaluationRequest
  readonly interruptMs: number
}

/** A message of the worker. After one with `isBroken` the worker can't be used any more. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly result: EvaluationResult; readonly isBroken: boolean }
