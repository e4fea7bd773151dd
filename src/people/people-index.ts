// People and teams as the watches of a process deliver them (contract 24).
import { hash } from 'node:crypto'
import type { KubeObject } from '../api/objects.ts'
import type { Team } from '../api/team.gen.ts'
import type { User } from '../api/user.gen.ts'
import { hasExpectedName, objectNameOf } from '../domain/people/object-name.ts'
import {
  identitiesOfTeamChange,
  identitiesOfUserChange,
  NO_TEAMS,
  type People,
  teamNamesOf,
} from '../domain/people/people.ts'
import { givesGroupTo, identityOfTeam, type PlatformTeam, teamOf } from '../domain/people/team.ts'
import { identityOfUser, type PlatformUser, usernameIn, userOf } from '../domain/people/user.ts'
import { type CachedObject, notifyAll, Store, type StoreChange } from '../kube/informer/store.ts'

const sha256 = (text: string): string => hash('sha256', text)

/** The metadata.name that belongs to the name of a person or team (contract 24.3). */
export const objectNameFor = (name: string): string => objectNameOf(name, sha256)

/** Parses a User as the API server sends it. */
export const parseUser = (object: KubeObject): PlatformUser => userOf(object as User, sha256)

/** Parses a Team as the API server sends it. */
export const parseTeam = (object: KubeObject): PlatformTeam => teamOf(object as Team, sha256)

// Indexes, by name. An object whose name is not the form of its own counts for nothing, so none has it.
const BY_IDENTITY = 'identity'
const BY_GROUP = 'group'
const BY_USER = 'user'

/** An empty store of Users. @param parse keeps at least the fields of PlatformUser */
export const createUserStore = <T extends PlatformUser>(
  parse: (object: KubeObject) => T,
): Store<T> =>
  new Store(parse, {
    [BY_IDENTITY]: (user) => (hasExpectedName(user) ? identityOfUser(user) : null),
    [BY_GROUP]: (user) => (hasExpectedName(user) ? user.groups : null),
  })

/** An empty store of Teams. @param parse keeps at least the fields of PlatformTeam */
export const createTeamStore = <T extends PlatformTeam>(
  parse: (object: KubeObject) => T,
): Store<T> =>
  new Store(parse, {
    [BY_IDENTITY]: (team) => (hasExpectedName(team) ? identityOfTeam(team) : null),
    [BY_GROUP]: (team) => (hasPeople(team) ? team.groups : null),
    [BY_USER]: (team) => (hasPeople(team) ? team.users : null),
  })

/** The Team of that name, in constant time; undefined = there is none that counts. */
export const teamIn = <T extends PlatformTeam>(
  teams: Pick<Store<T>, 'firstBy'>,
  teamName: string,
): T | undefined => teams.firstBy(BY_IDENTITY, identityOfTeam({ teamName }))

/** A team that is being deleted gives nobody its group. */
const hasPeople = (team: PlatformTeam): boolean => hasExpectedName(team) && !team.isDeleting

/** Every team whose group a person has, by user name and by groups at sign-in providers. */
export function teamsOfPerson<T extends PlatformTeam>(
  teams: Pick<Store<T>, 'by'>,
  { username, groups }: Pick<PlatformUser, 'username' | 'groups'>,
): readonly T[] {
  const named = teams.by(BY_USER, username)
  const byGroup = groups.flatMap((group) => teams.by(BY_GROUP, group))
  return byGroup.length === 0 ? named : [...new Set([...named, ...byGroup])]
}

/** The stores that hold people and teams. */
interface PeopleStores {
  readonly users: Searchable<PlatformUser>
  readonly teams: Searchable<PlatformTeam>
}

/** A store may keep more fields than are asked for. */
type Searchable<T extends CachedObject> = Pick<Store<T>, 'by' | 'firstBy' | 'subscribe'>

/** People and teams, with their changes. */
export interface PeopleIndex extends People {
  /** Every team whose group `user:<username>` has, also beyond the limit of `teamsOf`. */
  readonly allTeamsOf: (identity: string) => readonly PlatformTeam[]
  /** Calls the listener with the identities whose keys a change may affect. */
  readonly subscribe: (listener: (identities: readonly string[]) => void) => void
}

/** Finds people and teams in the stores. */
export function peopleIn({ users, teams }: PeopleStores): PeopleIndex {
  const listeners: ((identities: readonly string[]) => void)[] = []
  /** The teams of the people who are in any and have been asked for, until they change. */
  const namesOf = new Map<string, readonly string[]>()
  const changed = (identities: readonly string[]): void => {
    if (identities.length === 0) return
    for (const identity of identities) namesOf.delete(identity)
    notifyAll(listeners, [identities])
  }
  users.subscribe((change) => changed(identitiesOfUserChange(countedOnly(change))))
  teams.subscribe((change) => {
    const usersIn = (group: string): readonly PlatformUser[] => users.by(BY_GROUP, group)
    changed(identitiesOfTeamChange(countedOnly(change), usersIn))
  })

  const user = (identity: string): PlatformUser | undefined => users.firstBy(BY_IDENTITY, identity)
  const allTeamsOf = (identity: string): readonly PlatformTeam[] => {
    const username = usernameIn(identity)
    return username === null
      ? []
      : teamsOfPerson(teams, { username, groups: user(identity)?.groups ?? [] })
  }
  return {
    user,
    team: (identity) => teams.firstBy(BY_IDENTITY, identity),
    teamsOf: (identity) => {
      const cached = namesOf.get(identity)
      if (cached !== undefined) return cached
      const names = teamNamesOf(allTeamsOf(identity))
      if (names !== NO_TEAMS) namesOf.set(identity, names)
      return names
    },
    isInTeam: (identity, teamName) => {
      const team = teamIn(teams, teamName)
      return team !== undefined && givesGroupTo(team, identity, user(identity))
    },
    allTeamsOf,
    subscribe: (listener) => void listeners.push(listener),
  }
}

/** The change as it is for those objects that count. */
const countedOnly = <T extends PlatformUser | PlatformTeam>({ before, after }: StoreChange<T>) => ({
  before: before && hasExpectedName(before) ? before : undefined,
  after: after && hasExpectedName(after) ? after : undefined,
})
