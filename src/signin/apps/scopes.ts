// The scopes of apps, and the claims that each opens (contract 26.3). Pure.
import type { SignInUser } from '../people/sign-in-user.ts'

/** The scopes, in the order in which they are written. */
export const SCOPES = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const

/** One of SCOPES. */
type AppScope = (typeof SCOPES)[number]

/** The scopes in a text that are known, each once. Others mean nothing, as OpenID Connect has it. */
export function scopesIn(text: string): readonly AppScope[] {
  const asked = text.split(' ')
  return SCOPES.filter((scope) => asked.includes(scope))
}

/** What apps may learn of a person. */
type AppPerson = Pick<SignInUser, 'username' | 'uid' | 'displayName' | 'email'> & {
  /** Names of the Teams. */
  readonly teams: readonly string[]
}

/** The claims that each scope opens; `sub` is in every token. */
export const CLAIMS: Readonly<Record<AppScope, readonly string[]>> = {
  openid: [],
  profile: ['name', 'preferred_username'],
  email: ['email'],
  groups: ['groups'],
  offline_access: [],
}

/** The claims of a person that the scopes open; what the User does not have is absent. */
export function claimsOf(
  { username, displayName, email, teams }: AppPerson,
  scopes: readonly string[],
): Readonly<Record<string, unknown>> {
  const all: Readonly<Record<string, unknown>> = {
    name: displayName,
    preferred_username: username,
    email,
    groups: teams,
  }
  const opened = SCOPES.filter((scope) => scopes.includes(scope)).flatMap((scope) => CLAIMS[scope])
  return Object.fromEntries(
    opened.filter((claim) => all[claim] !== '').map((claim) => [claim, all[claim]]),
  )
}
