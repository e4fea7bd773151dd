// The life of an admitted request: its place in max in flight and its lease, both until its answer ends (contract 13.3).
import type { UpgradeProtocol } from '../../kube/proxy/types.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { EndRefusals } from './credential-refusals.ts'
import type { ForwardBuffer } from './forward-buffer.ts'
import type { TerminationReason } from './in-flight.ts'
import type { HeldLease, LeaseOutcome, RequestLease } from './request-lease.ts'
import { terminable } from './terminate.ts'

/** Parts of an admitted request. */
interface AdmittedParts {
  readonly lease: HeldLease
  /** Whether the answer has no time limit. */
  readonly isLong: boolean
  /** Frees the place in max in flight; later calls do nothing. */
  readonly freePlace: () => void
}

/** Options of a streamed answer, besides its lease. See terminable. */
interface AnsweredStream {
  readonly isWatch: boolean
  readonly upgrade: UpgradeProtocol | null
  readonly buffer: ForwardBuffer
  readonly refusals: EndRefusals
  readonly flowed: () => void
}

/** A request from its admission to the end of its answer. */
export class AdmittedRequest {
  readonly #parts: AdmittedParts
  #cutBy: TerminationReason | null = null

  constructor(parts: AdmittedParts) {
    this.#parts = parts
  }

  /** The lease, for the stages. */
  get lease(): RequestLease {
    return this.#parts.lease
  }

  /** Why the request was refused after its admission, or its answer cut; null = neither. */
  get cutBy(): TerminationReason | null {
    return this.#cutBy
  }

  /** The result of a stage, or the refusal if the key or the target ends first. @throws what `answering` rejects with */
  async outcome(answering: Promise<Answer | null>): Promise<LeaseOutcome<Answer | null>> {
    const outcome = await this.#parts.lease.outcome(answering)
    if (outcome.isOver) this.#cutBy = outcome.reason
    return outcome
  }

  /** The answer, which is cut when the key or the target ends. Its end releases the request. */
  untilEnd(answer: Answer, { isWatch, upgrade, buffer, refusals, flowed }: AnsweredStream): Answer {
    const { lease, isLong } = this.#parts
    return terminable(answer, {
      flows: (kind, cut, mayComplete) => {
        const cutBy = (reason: TerminationReason): void => {
          this.#cutBy = reason
          cut(reason)
        }
        lease.flows(kind, cutBy, mayComplete)
      },
      isWatch,
      isLong,
      upgrade,
      buffer,
      refusals,
      flowed,
      done: () => this.release(),
    })
  }

  /** Closes the lease and frees the place; later calls do nothing. */
  release(): void {
    this.#parts.lease.close()
    this.#parts.freePlace()
  }
}
