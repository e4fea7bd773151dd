// Results of evaluations, kept while the inputs stay the same: an expression is a function of its request alone.
import { createHash } from 'node:crypto'
import type { Evaluate, EvaluationRequest, EvaluationResult } from '../sandbox/protocol.ts'

/** The most that is kept for one object, in characters: what does not fit is evaluated each time. */
const LONGEST = 1024 * 1024
/** What a result takes in memory beside its text, about. */
const ENTRY_LENGTH = 200

/**
 * Remembers for each object the results that its last pass used. A pass is all that is evaluated for the object
 * between two calls of `of`, in both directions. Objects without patches take no memory.
 */
export class EvaluationMemory {
  readonly #evaluate: Evaluate
  readonly #kept = new Map<string, Results>()

  /** @param evaluate the sandbox's */
  constructor(evaluate: Evaluate) {
    this.#evaluate = evaluate
  }

  /** Begins a pass over the object. What the pass before used is not evaluated again, but for transient failures. */
  of(key: string): Evaluate {
    const last = this.#kept.get(key)
    this.#kept.delete(key)
    const results = new Results()
    const digestOfRequest = requestDigests()
    return async (request) => {
      const digest = digestOfRequest(request)
      const known = results.get(digest) ?? last?.get(digest)
      const result = known ?? (await this.#evaluate(request))
      if (result.kind === 'failed' && result.isTransient) return result
      results.add(digest, result)
      this.#kept.set(key, results)
      return result
    }
  }

  /** Drops what is kept of an object that does not exist any more. */
  forget(key: string): void {
    this.#kept.delete(key)
  }
}

/** Results by the digests of their requests, up to a length. */
class Results {
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

/** Digests of the requests for one object. Their context is long, and mostly that of the request before. */
function requestDigests(): (request: EvaluationRequest) => string {
  let known = { context: '', digest: digestOf('') }
  return ({ source, value, context, path, place }) => {
    if (known.context !== context) known = { context, digest: digestOf(context) }
    return digestOf(JSON.stringify([source, value, known.digest, path, place]))
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
