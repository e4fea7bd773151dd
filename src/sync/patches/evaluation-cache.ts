// Results of evaluations, kept while the inputs stay the same: an expression is a function of its request alone.
import { createHash } from 'node:crypto'
import type { Evaluate, EvaluationRequest, EvaluationResult } from '../sandbox/protocol.ts'

/** The longest results of one object, in characters: a result that does not fit is evaluated each time. */
const LONGEST = 1024 * 1024
/** The approximate size of a result in memory without its text. */
const ENTRY_LENGTH = 200

/** A record of an object that keeps the results of its last pass. */
export interface KeepsEvaluations {
  /** null = no pass has evaluated anything. */
  evaluations: EvaluationResults | null
}

/**
 * Begins a pass over an object: the evaluations for it in both directions until the next pass begins. A request
 * of the previous pass is answered from the record, unless it failed for a reason that can pass.
 *
 * @param evaluate the sandbox's
 */
export function cachedEvaluation(record: KeepsEvaluations, evaluate: Evaluate): Evaluate {
  const previous = record.evaluations
  record.evaluations = null
  const results = new EvaluationResults()
  const digestOfRequest = requestDigests()
  return async (request) => {
    const digest = digestOfRequest(request)
    const cached = results.get(digest) ?? previous?.get(digest)
    const result = cached ?? (await evaluate(request))
    if (result.kind === 'failed' && result.isTransient) return result
    results.add(digest, result)
    record.evaluations = results
    return result
  }
}

/** The results of one pass by the digests of their requests, up to a total length. */
class EvaluationResults {
  readonly #byDigest = new Map<string, EvaluationResult>()
  #length = 0

  get(digest: string): EvaluationResult | undefined {
    return this.#byDigest.get(digest)
  }

  add(digest: string, result: EvaluationResult): void {
    const length = ENTRY_LENGTH + (result.kind === 'value' ? result.json.length : 0)
    if (this.#byDigest.has(digest) || this.#length + length > LONGEST) return
    this.#byDigest.set(digest, result)
    this.#length += length
  }
}

/** Digests of the requests for one object. Their context is long, and mostly the same as in the previous request. */
function requestDigests(): (request: EvaluationRequest) => string {
  let last = { context: '', digest: digestOf('') }
  return ({ source, value, context, path, place }) => {
    if (last.context !== context) last = { context, digest: digestOf(context) }
    return digestOf(JSON.stringify([source, value, last.digest, path, place]))
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
