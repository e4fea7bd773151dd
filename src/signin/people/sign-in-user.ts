// Users as signing in needs them: who they are at which provider, and where their password is.
import { hash } from 'node:crypto'
import type { KubeObject } from '../../api/objects.ts'
import type { User, UserSpec, UserStatus } from '../../api/user.gen.ts'
import { type Untyped, fieldsOf, isStringOrAbsent, stringOf } from '../../domain/json/json.ts'
import { hasExpectedName } from '../../domain/people/object-name.ts'
import { type PlatformUser, userOf } from '../../domain/people/user.ts'
import { Store } from '../../kube/informer/store.ts'
import { type PasswordRef, passwordRefOf } from '../password/password-ref.ts'

/** An account at a provider. */
interface UserAccount {
  readonly connector: string
  /** null = not known yet: the first sign-in by this connector sets it (contract 24.3). */
  readonly subject: string | null
}

/** A group of a person at a provider. */
export interface UserGroup {
  readonly connector: string
  readonly name: string
}

/** A User, as signing in needs it. */
export interface SignInUser extends PlatformUser {
  /** In the order of spec. A malformed entry is kept as one that matches no account, so that positions stay. */
  readonly identities: readonly UserAccount[]
  /** null = the person has no password. */
  readonly passwordRef: PasswordRef | null
  readonly displayName: string
  readonly email: string
  readonly hasStatus: boolean
  readonly memberships: readonly UserGroup[]
  /** Connectors whose groups the User has although no identity names them any more. */
  readonly strayConnectors: readonly string[]
}

/** A User as it is kept in memory: without groups, which 10,000 people may have 200 of each, and names for people. */
export type WatchedUser = Omit<SignInUser, 'groups' | 'memberships' | 'displayName'>

const NO_IDENTITY: UserAccount = { connector: '', subject: null }

/** Parses a User as the API server sends it. Never throws: what is malformed opens nothing. */
export function signInUserOf(object: KubeObject): SignInUser {
  const user = object as User
  const { identities, displayName, email }: Untyped<UserSpec> = fieldsOf(user.spec)
  const { groups }: Untyped<UserStatus> = fieldsOf(user.status)
  const accounts = Array.isArray(identities) ? identities.map(identityOf) : []
  const memberships = Array.isArray(groups) ? groups.flatMap(membershipOf) : []
  return {
    ...userOf(user, (text) => hash('sha256', text)),
    identities: accounts,
    passwordRef: passwordRefOf(user),
    displayName: stringOf(displayName) ?? '',
    email: stringOf(email) ?? '',
    hasStatus: user.status !== undefined,
    memberships,
    strayConnectors: strayOf(memberships, accounts),
  }
}

function strayOf(
  memberships: readonly UserGroup[],
  accounts: readonly UserAccount[],
): readonly string[] {
  const known = new Set(accounts.map(({ connector }) => connector))
  const stray = memberships.filter(({ connector }) => !known.has(connector))
  return [...new Set(stray.map(({ connector }) => connector))]
}

function identityOf(entry: unknown): UserAccount {
  const { connector, subject } = fieldsOf(entry)
  // Generated clients send an empty text for an absent one (contract 1.2).
  return typeof connector === 'string' && isStringOrAbsent(subject)
    ? { connector, subject: stringOf(subject) || null }
    : NO_IDENTITY
}

function membershipOf(entry: unknown): readonly UserGroup[] {
  const { connector, name } = fieldsOf(entry)
  return typeof connector === 'string' && typeof name === 'string' ? [{ connector, name }] : []
}

function watchedUserOf(object: KubeObject): WatchedUser {
  const { groups: _, memberships: __, displayName: ___, ...watched } = signInUserOf(object)
  return watched
}

const BY_SUBJECT = 'subject'
const BY_USERNAME = 'username'

/** The Users, found by account and by name. */
export class SignInUsers {
  readonly store = new Store(watchedUserOf, {
    // Also of an object that counts for nothing: an account that two Users name opens neither.
    [BY_SUBJECT]: ({ identities }) =>
      identities.flatMap(({ connector, subject }) =>
        subject === null ? [] : [accountKey(connector, subject)],
      ),
    [BY_USERNAME]: (user) => (hasExpectedName(user) ? user.username : null),
  })

  /** Every User with this account; more than one is a fault of their author. */
  withAccount(connector: string, subject: string): readonly WatchedUser[] {
    return [...this.store.by(BY_SUBJECT, accountKey(connector, subject))]
  }

  /** The User of this name; undefined = there is none. */
  named(username: string): WatchedUser | undefined {
    return this.store.firstBy(BY_USERNAME, username)
  }
}

const accountKey = (connector: string, subject: string): string =>
  JSON.stringify([connector, subject])
