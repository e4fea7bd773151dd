// The state of a claim: the reason of its Ready condition, and what it says (contract 28.7).
import type { REASONS } from '../../api/reasons.ts'
import { findCondition } from '../../domain/conditions.ts'
import { latestKeyOf } from '../../domain/claim/holdings.ts'
import { reasonOf, replacementOf } from '../../domain/claim/replacement.ts'
import type { KeyOfClaim, TokenOfClaim } from '../../domain/claim/claimed-key.ts'
import { MOST_DATA_BYTES, needsServer } from '../../domain/claim/template.ts'
import { formatSecond } from '../../domain/time.ts'
import { SHOWN_AFTER_MS } from './attempt.ts'
import type { ClaimFacts } from './facts.ts'
import { deliveredEndMs, isDeliveredLive, isTooShort, nextRotationMs } from './lifetimes.ts'

/** Reason of Ready of a claim. */
type ClaimState = (typeof REASONS.claimReady)[number]

/** A state with its sentence. */
interface DescribedState {
  readonly state: ClaimState
  readonly message: string
}

/** One check of the state; null = it does not apply. */
type StateCheck = (facts: ClaimFacts) => DescribedState | null

/** The first that answers is the state (contract 28.7). */
const CHECKS: readonly StateCheck[] = [
  terminating,
  ({ placeFault }) => placeFault && described(placeFault.reason, placeFault.message),
  gatewayUnknown,
  lifetimeTooShort,
  secretTooLarge,
  ({ fault }) => fault && described(fault.reason, fault.message),
  keyDisabled,
  keyNotReady,
  suspended,
  pending,
]

/** The state of a claim. */
export function stateOf(facts: ClaimFacts): DescribedState {
  for (const check of CHECKS) {
    const found = check(facts)
    if (found !== null) return found
  }
  return described('Delivered', deliveredMessage(facts))
}

/** States that only an edit ends. */
export const STALLED: ReadonlySet<ClaimState> = new Set([
  'NamespaceRefused',
  'LifetimeTooShort',
  'SecretTaken',
  'KeyDisabled',
])

/** Why nothing can be made, whatever is due; null = it can. */
export const obstacleOf = (facts: ClaimFacts): DescribedState | null =>
  gatewayUnknown(facts) ?? lifetimeTooShort(facts) ?? secretTooLarge(facts)

const described = (state: ClaimState, message: string): DescribedState => ({ state, message })

function terminating({ claim }: ClaimFacts): DescribedState | null {
  return claim.isDeleting
    ? described('Terminating', 'The claim is being deleted, and its keys and tokens end.')
    : null
}

function gatewayUnknown({ claim, server }: ClaimFacts): DescribedState | null {
  if (server !== null || !needsServer(claim.secret)) return null
  return described(
    'GatewayUnknown',
    "spec.secret.data have $(SERVER) or $(KUBECONFIG), and the gateway's address is unknown: an administrator sets platformHost in the Config, or --gateway-url of management-operator delivery.",
  )
}

function lifetimeTooShort(facts: ClaimFacts): DescribedState | null {
  if (!isTooShort(facts)) return null
  return described(
    'LifetimeTooShort',
    `accessKeyMaxTTLSeconds of the Config, ${facts.caps.maxTtlSeconds} s, would end a credential before it could be replaced: it must be at least 120.`,
  )
}

/** Without this, a few claims could make the process render more than its memory holds. */
function secretTooLarge({ dataBytes: bytes }: ClaimFacts): DescribedState | null {
  if (bytes <= MOST_DATA_BYTES) return null
  return described(
    'SecretRefused',
    `spec.secret.data would be ${bytes} bytes, and a Secret holds ${MOST_DATA_BYTES}: write $(KUBECONFIG), $(CA_DATA) and $(TOKEN) fewer times.`,
  )
}

function keyDisabled({ holdings }: ClaimFacts): DescribedState | null {
  const key = latestKeyOf(holdings)
  if (!key?.isDisabled) return null
  return described(
    'KeyDisabled',
    `Access key ${key.name} was disabled and is not replaced: enable it, or ask for another one with annotation management.platform.sh/rotate.`,
  )
}

function keyNotReady({
  holdings,
  claim,
  attemptKey,
  attemptToken,
}: ClaimFacts): DescribedState | null {
  const { key, token } = holdings
  const delivered = claim.token === null ? [key] : [key, token]
  // A new key is shown only where there is none that was delivered.
  const shown = key === null ? [latestKeyOf(holdings), attemptKey, attemptToken] : delivered
  const [first] = shown.flatMap((one) => notReadyMessage(one) ?? [])
  return first === undefined ? null : described('KeyNotReady', first)
}

/** States that pass by a replacement, or that this process waits for. */
const PASSING: ReadonlySet<string> = new Set([
  '',
  'Active',
  'Issued',
  'Pending',
  'Expired',
  'Revoked',
  'Terminating',
])

function notReadyMessage(credential: KeyOfClaim | TokenOfClaim | null): string | null {
  if (credential === null || PASSING.has(reasonOf(credential))) return null
  const kind = 'digest' in credential ? 'Access key' : 'Token'
  const message = findCondition(credential.published.conditions, 'Ready')?.message ?? ''
  return `${kind} ${credential.name}: ${message}`
}

function suspended(facts: ClaimFacts): DescribedState | null {
  if (!facts.claim.isSuspended || isDeliveredLive(facts)) return null
  return described('Suspended', 'Nothing that works is delivered, and spec.suspend keeps it so.')
}

/** What the delivered credential lacks of what the spec asks for. */
const OUTDATED: ReadonlySet<string> = new Set(['identity_changed', 'token_changed', 'data_changed'])

function pending(facts: ClaimFacts): DescribedState | null {
  const replacement = replacementIn(facts)
  const waits = waitOf(facts)
  if (deliveredEndMs(facts) === null)
    return described('Pending', `The credential is being made${waits}.`)
  if (!isDeliveredLive(facts))
    return described(
      'Pending',
      `The credential in the Secret has ended; its successor is being made${waits}.`,
    )
  if (replacement?.cause === 'secret_changed')
    return described(
      'Pending',
      `The Secret was changed by others; another credential is being made${waits}.`,
    )
  if (replacement !== null && OUTDATED.has(replacement.cause))
    return described(
      'Pending',
      `The Secret is not yet as spec asks; another credential is being made${waits}.`,
    )
  return null
}

/** Why the credential under way is not delivered yet, as the end of a sentence; empty = it takes no longer than usual. */
function waitOf({ attempt, attemptKey, attemptToken, nowMs }: ClaimFacts): string {
  if (attempt === null || nowMs < attempt.startedMs + SHOWN_AFTER_MS) return ''
  const [because] = [attemptKey, attemptToken].flatMap((one) => notReadyMessage(one) ?? [])
  return because === undefined
    ? '; its access key does not work yet, see whether the manager runs'
    : `. ${because.replace(/\.$/, '')}`
}

/** The credential to be made now; null = none, or the Secret has to be read first. */
export function replacementIn(facts: ClaimFacts): ReturnType<typeof replacementOf> {
  const { secret } = facts
  if (secret.kind === 'unknown') return null
  return replacementOf({ ...facts, secret: secret.kind === 'held' ? secret.view : null })
}

function deliveredMessage(facts: ClaimFacts): string {
  const { claim } = facts
  const what = claim.token === null ? 'key' : 'token'
  const nextMs = nextRotationMs(facts)
  const next = nextMs === null ? 'is not replaced' : `is replaced ${formatSecond(nextMs)}`
  const endMs = deliveredEndMs(facts)
  const until = endMs === null ? '' : ` until ${formatSecond(endMs)}`
  return `Secret ${claim.secret.name} has a ${what} that works${until} and ${next}.`
}
