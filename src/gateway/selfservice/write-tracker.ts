// Remembers whether a request of a caller may have changed something: one request of self-service reads, tries by a dry
// run, writes, and reads again, and each of these may get no answer (contract 13.1).
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'

/** Sends the requests of one request of a caller. */
export class WriteTracker implements Pick<Upstream, 'send'> {
  readonly #upstream: Pick<Upstream, 'send'>
  #mayHaveWritten = false

  constructor(upstream: Pick<Upstream, 'send'>) {
    this.#upstream = upstream
  }

  /** Whether the API server has carried out a write, or may have: its answer got lost. */
  get mayHaveWritten(): boolean {
    return this.#mayHaveWritten
  }

  /** As Upstream does. */
  async send(call: UpstreamCall): Promise<UpstreamAnswer> {
    try {
      const answer = await this.#upstream.send(call)
      // A 5xx says that the write failed on the way, perhaps after it was stored.
      const isRefused = answer.status >= 400 && answer.status < 500
      if (!isRefused) this.#note(call)
      return answer
    } catch (error) {
      if (!(error instanceof UpstreamUnavailable) || error.outcome === 'unanswered')
        this.#note(call)
      throw error
    }
  }

  #note({ method, path }: UpstreamCall): void {
    const isDryRun = new URLSearchParams(path.split('?')[1]).has('dryRun')
    if (method !== 'GET' && !isDryRun && !isReview(path)) this.#mayHaveWritten = true
  }
}

/** Whether the path is of a review, which is a POST that stores nothing. */
const isReview = (path: string): boolean => path.startsWith('/apis/authorization.k8s.io/')
