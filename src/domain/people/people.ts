// What people and teams do to access keys (contract 24.2): who is locked out, and which teams a person is in.
import { type PlatformTeam, identityOfTeam } from './team.ts'
import { type PlatformUser, identityOfUser, isLockedOut } from './user.ts'

/** Finds people and teams by the identity of keys. An object whose name is not the form of its own counts for nothing. */
export interface People {
  /** The User of `user:<username>`; undefined when there is none. */
  readonly user: (identity: string) => PlatformUser | undefined
  /** The Team of `team:<team>`; undefined when there is none. */
  readonly team: (identity: string) => PlatformTeam | undefined
  /**
   * Names of the teams that `user:<username>` is in, at most MAX_TEAMS; the same object until they change, so that what
   * is computed from it can be cached.
   */
  readonly teamsOf: (identity: string) => readonly string[]
  /** Whether `user:<username>` is in the team of that name, also beyond the limit of `teamsOf`. */
  readonly isInTeam: (identity: string, teamName: string) => boolean
}

/** The most teams whose groups a key has: the first by the bytes of their names. */
export const MAX_TEAMS = 200

/** The empty list of teams. */
export const NO_TEAMS: readonly string[] = []

/** Names of the first MAX_TEAMS of these teams. */
export const teamNamesOf = (teams: readonly PlatformTeam[]): readonly string[] =>
  teams.length === 0
    ? NO_TEAMS
    : teams
        .map(({ teamName }) => teamName)
        .toSorted()
        .slice(0, MAX_TEAMS)

/** Why the person or team of a key keeps it from working: reasons of its Ready condition (contract 24.5). */
export type IdentityFault =
  | 'UserDisabled'
  | 'TeamGone'
  | 'IdentityGone'
  | 'IdentityStale'
  | 'SignInAgain'

/** How long a Login key works after its last refresh at the sign-in provider (contract 24.5). */
const REFRESH_WITHIN_MS = 86_400_000

/** The fields of an access key that say whom it acts as. */
export interface IdentityFields {
  /** `user:<user>`, `team:<team>` or `subject:<subject>`; null when none or several are set, or one is malformed. */
  readonly identity: string | null
  /** What annotation `identity-gone` says of the person, the worse for another text; null = it is absent. */
  readonly identityGone: 'IdentityGone' | 'SignInAgain' | null
  /**
   * Last refresh of a Login key at the sign-in provider, in epoch milliseconds, the earliest time for a malformed one;
   * null = the key is not refreshed.
   */
  readonly refreshedMs: number | null
}

/** Why a key does not work because of whom it acts as: the first that applies (contract 24.5); null = nothing. */
export function identityFaultOf(
  key: IdentityFields,
  people: People,
  nowMs: number,
): IdentityFault | null {
  const { identity, identityGone } = key
  const user = people.user(identity ?? '')
  const team = people.team(identity ?? '')
  const staleMs = staleAtMs(key)
  if (user !== undefined && isLockedOut(user)) return 'UserDisabled'
  if (team?.isDeleting) return 'TeamGone'
  if (identityGone === 'IdentityGone') return identityGone
  return staleMs !== null && nowMs >= staleMs ? 'IdentityStale' : identityGone
}

/** When a key becomes IdentityStale, more than 24 h after its refresh, in epoch milliseconds; null = never. */
export const staleAtMs = ({ refreshedMs }: Pick<IdentityFields, 'refreshedMs'>): number | null =>
  refreshedMs === null ? null : refreshedMs + REFRESH_WITHIN_MS + 1

/** A User or Team before and after a change; undefined = it did not exist, or counted for nothing. */
interface PeopleChange<T> {
  readonly before: T | undefined
  readonly after: T | undefined
}

/** The identities whose keys a change of a User may affect. */
export function identitiesOfUserChange({
  before,
  after,
}: PeopleChange<PlatformUser>): readonly string[] {
  const one = before ?? after
  const isSame =
    before !== undefined &&
    after !== undefined &&
    isLockedOut(before) === isLockedOut(after) &&
    sameMembers(before.groups, after.groups)
  return one === undefined || isSame ? [] : [identityOfUser(one)]
}

/**
 * The identities whose keys a change of a Team may affect: the team, and the people who came or went.
 *
 * @param usersIn the people who have a group at a sign-in provider
 */
export function identitiesOfTeamChange(
  { before, after }: PeopleChange<PlatformTeam>,
  usersIn: (group: string) => readonly PlatformUser[],
): readonly string[] {
  const one = before ?? after
  if (one === undefined) return []
  const [was, is] = [before, after].map((team) => (team?.isDeleting ? undefined : team))
  const users = differences(was?.users ?? [], is?.users ?? []).map((username) =>
    identityOfUser({ username }),
  )
  const groups = differences(was?.groups ?? [], is?.groups ?? [])
  const inGroups = groups.flatMap((group) => usersIn(group).map(identityOfUser))
  const own = before?.isDeleting === after?.isDeleting ? [] : [identityOfTeam(one)]
  return [...new Set([...own, ...users, ...inGroups])]
}

const sameMembers = (some: readonly string[], others: readonly string[]): boolean =>
  differences(some, others).length === 0

/** What is in one of the two lists alone. */
function differences(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some === others) return []
  const [had, has] = [new Set(some), new Set(others)]
  return [...some.filter((one) => !has.has(one)), ...others.filter((one) => !had.has(one))]
}
