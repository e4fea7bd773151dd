// What follows from the answer of a provider that was asked again about a person (contract 25.7). Pure.
import type { GoneReason } from '../../domain/signin/identity-report.ts'
import { GrantEnded, type SignInReason, SignInRefused } from '../../domain/signin/refusals.ts'
import { isUnsent } from '../providers/outgoing.ts'
import type { SignInUser } from '../people/sign-in-user.ts'
import { isSessionOf, type SignInSession } from '../sessions/session.ts'

/** The person is gone at the provider. */
export interface PersonGone {
  readonly kind: 'gone'
  readonly reason: GoneReason
  /** For the log. */
  readonly because: string
  /** Whether the person has no groups at this provider any more. */
  readonly losesGroups: boolean
}

/** Why a refresh has no good answer. */
type RefreshFailure =
  | PersonGone
  /** Nothing changes, and the provider is asked again. */
  | {
      readonly kind: 'failed'
      /** Whether the provider has certainly replaced no token. */
      readonly isAnswered: boolean
    }

/** The provider lets the person in no more: none of the groups, orgs, domains or tenants that it demands. */
const EXPELLED: readonly SignInReason[] = ['groups_required', 'domain_refused']
/** Nothing came back that says what the provider has done. */
const SILENT: readonly SignInReason[] = ['provider_unreachable', 'provider_answer']

/**
 * What follows from an error of the refresh.
 *
 * @param hasDoubt whether a token that the provider refuses may have been replaced, or have ended by its time
 */
export function refreshFailure(error: unknown, hasDoubt: boolean): RefreshFailure {
  if (!(error instanceof SignInRefused)) return { kind: 'failed', isAnswered: false }
  const { reason, because } = error
  if (error instanceof GrantEnded) return gone(because, hasDoubt ? 'SignInAgain' : 'IdentityGone')
  if (EXPELLED.includes(reason)) return { ...gone(because), losesGroups: true }
  return { kind: 'failed', isAnswered: !SILENT.includes(reason) || isUnsent(error) }
}

/**
 * The User whom a good answer is about, or why the person of the session is gone all the same.
 *
 * @param subject in the answer
 * @param user as the API server has it; null = there is none of that name
 */
export function confirmedUser(
  subject: string,
  session: Pick<SignInSession, 'provider' | 'subject' | 'userUid'>,
  user: SignInUser | null,
): SignInUser | PersonGone {
  if (subject !== session.subject) return gone('the answer is about another account')
  if (isSessionOf(session, user)) return user
  // The groups of an identity go with it (contract 24.3).
  return { ...gone('the User does not name the account'), losesGroups: true }
}

const gone = (because: string, reason: GoneReason = 'IdentityGone'): PersonGone => ({
  kind: 'gone',
  reason,
  because,
  losesGroups: false,
})

/** Whether the person is gone. */
export const isGone = (found: SignInUser | PersonGone): found is PersonGone =>
  'kind' in found && found.kind === 'gone'
