// Who an account at a provider is (contract 24.3): decided by the identities of Users alone, never by a name, an e-mail or
// anything else that the provider lets its people choose. Pure.
import { hasExpectedName, isPersonName } from '../../domain/people/object-name.ts'
import { isLockedOut } from '../../domain/people/user.ts'
import type { SignInReason } from '../../domain/signin/refusals.ts'
import type { SignInUser, WatchedUser } from './sign-in-user.ts'

/** An account, as its provider vouches for it. */
export interface Account {
  /** Id of the provider. */
  readonly connector: string
  /** `<authority>#<id at the provider>`. */
  readonly subject: string
  /** The name that the person is to have; null = the provider gave none. */
  readonly username: string | null
}

/** What the Users say of the account. */
export interface KnownUsers {
  /** Users that name the account in their identities, each once. */
  readonly withAccount: readonly WatchedUser[]
  /** The object of the name that the account would have; null = there is none. */
  readonly sameName: SignInUser | null
}

/** What is done about the User of an account. */
export type AccountStep =
  | { readonly kind: 'use'; readonly user: WatchedUser }
  /** Writes the subject into that entry of its identities: its author let this connector claim it, once. */
  | { readonly kind: 'claim'; readonly user: SignInUser; readonly entry: number }
  | { readonly kind: 'create'; readonly username: string }
  | { readonly kind: 'refuse'; readonly reason: SignInReason; readonly cause: string }

const LONGEST_SUBJECT = 2048
/** Characters of an e-mail address or a name that is shown. */
const LONGEST_SHOWN = 256

/** A text for people as Users and Teams hold it: null = there is none, or it is too long to be one. */
export const textForPeople = (text: string | null): string | null =>
  text === null || text.length > LONGEST_SHOWN ? null : text

/** Whether a User names the account in its identities. */
export const namesAccount = (
  { identities }: WatchedUser,
  { connector, subject }: Account,
): boolean =>
  identities.some((identity) => identity.connector === connector && identity.subject === subject)

/** The step for an account. @param mayCreate disableUserCreation is not set */
export function accountStep(
  { connector, subject, username }: Account,
  { withAccount, sameName }: KnownUsers,
  mayCreate: boolean,
): AccountStep {
  const [user, second] = withAccount
  if (second !== undefined) return refuse('name_taken', 'several Users name the account')
  if (user !== undefined)
    return hasExpectedName(user)
      ? use(user)
      : refuse('name_taken', 'the User of the account has the wrong metadata.name')
  if (subject.length > LONGEST_SUBJECT)
    return refuse('provider_answer', 'the subject is longer than a User holds')
  if (username === null) return refuse('name_missing', 'the provider gave no user name')
  if (!isPersonName(username)) return refuse('name_refused', 'the user name is not legal')
  if (sameName === null)
    return mayCreate
      ? { kind: 'create', username }
      : refuse('user_unknown', 'the account has no User, and disableUserCreation is set')
  const entry = sameName.identities.findIndex(
    (identity) => identity.connector === connector && identity.subject === null,
  )
  const isItsName = sameName.username === username && hasExpectedName(sameName)
  if (!isItsName || entry === -1)
    return refuse('name_taken', 'a User has the name, and does not name the account')
  return isLockedOut(sameName) ? use(sameName) : { kind: 'claim', user: sameName, entry }
}

const refuse = (reason: SignInReason, cause: string): AccountStep => ({
  kind: 'refuse',
  reason,
  cause,
})

const use = (user: WatchedUser): AccountStep =>
  isLockedOut(user)
    ? refuse('user_disabled', 'the User is disabled, or is being deleted')
    : { kind: 'use', user }
