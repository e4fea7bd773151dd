// What the plan of a claim knows besides the claim.
import type { KeyOfClaim, TokenOfClaim } from '../../domain/claim/claimed-key.ts'
import type { ConditionReason } from '../../api/reasons.ts'
import type { Holdings } from '../../domain/claim/holdings.ts'
import type { ReplacementInput } from '../../domain/claim/replacement.ts'
import type { SecretState } from '../../domain/claim/secret-view.ts'
import type { ServerAddress } from '../../domain/claim/template.ts'
import type { DeliveryAttempt } from './attempt.ts'

/** Why nothing is delivered, although the claim is in order. */
export interface ClaimFault {
  readonly reason: Extract<
    ConditionReason,
    | 'NamespaceRefused'
    | 'TooManyClaims'
    | 'DeliveryForbidden'
    | 'SecretTaken'
    | 'SecretRefused'
    | 'Pending'
  >
  /** A sentence. */
  readonly message: string
}

/** A fault that the API server has answered with. */
export interface DeliveryFault extends ClaimFault {
  /** The generation of the claim that had it. */
  readonly generation: number
  /** How often in a row. */
  readonly failures: number
  /** When it is tried again, in epoch milliseconds. */
  readonly retryMs: number
}

/** A write of labels and annotations of a Secret. */
export interface LabelWrite {
  /** Generation of the claim at that time. */
  readonly generation: number
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** The claim, its keys and tokens, and its place. */
export interface ClaimFacts extends Omit<ReplacementInput, 'secret'> {
  readonly secret: SecretState
  readonly holdings: Holdings
  /** null = no credential is under way. */
  readonly attempt: DeliveryAttempt | null
  /** The key and the token under way, once the watch has brought them. */
  readonly attemptKey: KeyOfClaim | null
  readonly attemptToken: TokenOfClaim | null
  /** uids of the key and the token that this process gave up last. */
  readonly abandoned: ReadonlySet<string>
  /** Why the claim has no right to anything; null = it has. */
  readonly placeFault: ClaimFault | null
  /** The last refusal by the API server, until the write is tried again; null = there is none. */
  readonly fault: DeliveryFault | null
  /** null = this process has written no labels. */
  readonly labelled: LabelWrite | null
  /** How large the entries of the Secret get at most, in bytes. */
  readonly dataBytes: number
  /** The gateway's address; null = it is unknown. */
  readonly server: ServerAddress | null
}
