// What the sign-in process reports of an attempt to the gateway (contract 25.1): a header that the gateway takes off, for its
// access log and the audit event.
import { parseJsonMap } from '../json/json.ts'
import { SIGN_IN_REFUSALS, type SignInReason } from './refusals.ts'

/** How an attempt ended, or how far it is. Every text is for people who read logs; empty = unknown. */
export interface SignInOutcome {
  /** Id of the provider (contract 25). */
  readonly provider: string
  /** `<authority>#<id at the provider>` (contract 24.3). */
  readonly subject: string
  /** Name of the user. */
  readonly user: string
  readonly outcome: 'begun' | 'signed_in' | 'refused' | 'signed_out'
  /** Why it was refused; null = it was not. */
  readonly reason: SignInReason | null
}

const OUTCOMES: readonly SignInOutcome['outcome'][] = [
  'begun',
  'signed_in',
  'refused',
  'signed_out',
]
/** Characters of the header that the gateway reads. */
const LONGEST = 4096
/** Characters of one text. */
const LONGEST_TEXT = 512

/** The header's value: JSON in visible ASCII, with every other character as `\uXXXX`. */
export function outcomeHeader(outcome: SignInOutcome): string {
  const { provider, subject, user, reason } = outcome
  const [short, of, name] = [provider, subject, user].map((text) => text.slice(0, LONGEST_TEXT))
  const json = JSON.stringify({
    provider: short,
    subject: of,
    user: name,
    outcome: outcome.outcome,
    reason,
  })
  return json.replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The outcome in a header; null = it is none, so the gateway logs none. */
export function outcomeIn(header: string): SignInOutcome | null {
  const fields = header.length > LONGEST ? null : parseJsonMap(header)
  if (fields === null) return null
  const { provider, subject, user, outcome, reason } = fields
  const isKnown = OUTCOMES.includes(outcome as SignInOutcome['outcome'])
  const isReason =
    reason === null || (typeof reason === 'string' && Object.hasOwn(SIGN_IN_REFUSALS, reason))
  if (!isText(provider) || !isText(subject) || !isText(user) || !isKnown || !isReason) return null
  return {
    provider,
    subject,
    user,
    outcome: outcome as SignInOutcome['outcome'],
    reason: reason as SignInReason | null,
  }
}

/** Whether a session has begun or ended, which an attempt that fails never causes. */
export const changesSession = ({ outcome }: SignInOutcome): boolean =>
  outcome === 'signed_in' || outcome === 'signed_out'

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_TEXT
