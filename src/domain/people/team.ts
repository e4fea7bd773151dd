// Parses a Team into the form that all decisions use (contract 24.1).
import type { Team, TeamSpec } from '../../api/team.gen.ts'
import { type Untyped, fieldsOf, stringOf, stringsOf } from '../json/json.ts'
import { type ExpectedName, objectNameOf } from './object-name.ts'
import { type PlatformUser, providerGroupsOf, usernameIn } from './user.ts'

/** A Team, as decisions need it. */
export interface PlatformTeam extends ExpectedName {
  readonly uid: string
  readonly resourceVersion: string
  /** The name of the team in force. */
  readonly teamName: string
  readonly isDeleting: boolean
  /** User names of people in the team, each once. */
  readonly users: readonly string[]
  /** Groups whose people are in the team, as providerGroupsOf gives them. */
  readonly groups: readonly string[]
}

/**
 * Parses an object. Never throws: a value that the schema refuses gives the group to no person (contract 10.3).
 *
 * @param sha256 returns the SHA-256 of a text in hex
 */
export function teamOf({ metadata, spec }: Team, sha256: (text: string) => string): PlatformTeam {
  const { name, users, groups }: Untyped<TeamSpec> = fieldsOf(spec)
  const teamName = stringOf(name) || metadata.name
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    teamName,
    expectedName: objectNameOf(teamName, sha256),
    isDeleting: metadata.deletionTimestamp !== undefined,
    users: [...new Set(stringsOf(users) ?? [])],
    groups: providerGroupsOf(groups),
  }
}

const IDENTITY_PREFIX = 'team:'

/** The identity of the keys of the team. */
export const identityOfTeam = ({ teamName }: Pick<PlatformTeam, 'teamName'>): string =>
  IDENTITY_PREFIX + teamName

/** The name of the team in the identity of a key; null for a key that acts as no team. */
export const teamNameIn = (identity: string | null): string | null =>
  identity?.startsWith(IDENTITY_PREFIX) ? identity.slice(IDENTITY_PREFIX.length) : null

/**
 * Whether the team gives its group to a person: it is not being deleted, and has the user name, or a group at a sign-in
 * provider that the User has.
 *
 * @param identity `user:<username>`; any other identity is in no team
 */
export function givesGroupTo(
  { isDeleting, users, groups }: PlatformTeam,
  identity: string,
  user: Pick<PlatformUser, 'groups'> | undefined,
): boolean {
  const username = usernameIn(identity)
  if (isDeleting || username === null) return false
  const has = user?.groups ?? []
  return users.includes(username) || groups.some((group) => has.includes(group))
}

const USERNAME_PREFIX = 'platform:team:'

/** The user name that keys of a team are impersonated as, and the group of the people in the team (contract 24.2). */
export const teamUsername = (team: string): string => USERNAME_PREFIX + team

/** The team in such a name; null for any other name. */
export const teamIn = (name: string): string | null =>
  name.startsWith(USERNAME_PREFIX) ? name.slice(USERNAME_PREFIX.length) : null
