// What the process remembers of a claim between reconciles. Everything in it is found again after a restart, but for the
// plaintext of a key that is under way.
import { type SecretState, UNKNOWN_SECRET } from '../../domain/claim/secret-view.ts'
import type { DeliveryAttempt } from './attempt.ts'
import type { DeliveryFault, LabelWrite } from './facts.ts'

/** What its templates become, which is computed once: a claim that is edited all the time must not keep others waiting. */
export interface RenderingFacts {
  /** The generation of the claim and the gateway's address, as they were. */
  readonly generation: number
  readonly url: string | null
  readonly ca: string | null
  /** What annotation `template` of the Secret is to be. */
  readonly template: string
  /** How large the entries of the Secret get at most, in bytes. */
  readonly dataBytes: number
}

/** The memory of one claim. */
export interface ClaimRecord {
  secret: SecretState
  /** null = no credential is under way. */
  attempt: DeliveryAttempt | null
  /** The last refusal of the API server; null = the last try went well. */
  fault: DeliveryFault | null
  /** The last write of labels and annotations; null = this process has made none. */
  labelled: LabelWrite | null
  /** null = nothing is computed yet. */
  rendering: RenderingFacts | null
  /** uids of the key and the token that this process gave up last. */
  abandoned: ReadonlySet<string>
  /** Id of the key that status has named when it was last looked at; null = none. */
  publishedKeyID: string | null
}

/** One set for all claims, to save memory. */
const NONE: ReadonlySet<string> = new Set()

/** The memory of all claims, by their uids: a claim of the same name that is made later starts with an empty record. */
export class ClaimMemory {
  readonly #records = new Map<string, ClaimRecord>()

  /** The record of a claim, which is made where there is none. */
  of({ uid }: { readonly uid: string }): ClaimRecord {
    const found = this.#records.get(uid)
    if (found) return found
    const record: ClaimRecord = {
      secret: UNKNOWN_SECRET,
      attempt: null,
      fault: null,
      labelled: null,
      rendering: null,
      abandoned: NONE,
      publishedKeyID: null,
    }
    this.#records.set(uid, record)
    return record
  }

  /** Forgets a claim that is gone. */
  forget({ uid }: { readonly uid: string }): void {
    this.#records.delete(uid)
  }
}
