// Reads people and teams from the API server while a watch can't be trusted (contract 10.4, 24.5).
import { type Resource, TEAMS, USERS } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { hasExpectedName } from '../domain/people/object-name.ts'
import { type People, teamNamesOf } from '../domain/people/people.ts'
import {
  givesGroupTo,
  identityOfTeam,
  type PlatformTeam,
  teamNameIn,
} from '../domain/people/team.ts'
import { identityOfUser, type PlatformUser, usernameIn } from '../domain/people/user.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { objectNameFor, parseTeam, parseUser } from '../people/people-index.ts'
import type { Clock } from '../runtime/clock.ts'
import { singleFlight } from '../runtime/concurrency/single-flight.ts'
import type { LiveKeyReader, LiveKeys } from './live-reader.ts'
import { READ_TIMEOUT_MS, REUSE_READS_FOR_MS } from './staleness.ts'

/** Limit on Users and Teams read at once: a person in the most teams now, in as many before, and a few owners. */
const MAX_READS = 512

/** Reads keys, and the people and teams that they act as. */
interface LivePeopleReader {
  /** As LiveKeyReader.readWithRelated. @param teamNames further teams to read */
  readonly readWithRelated: (
    names: readonly string[],
    teamNames?: readonly string[],
  ) => Promise<LiveKeys>
}

/**
 * A reader of keys that also reads the people and teams that they act as. Of the teams of a person it reads those that
 * the index knows: a team that the person has joined since gives its group later.
 */
export function withLivePeople(
  reader: LiveKeyReader,
  client: KubeClient,
  clock: Clock,
  reuseForMs: number = REUSE_READS_FOR_MS,
): LivePeopleReader {
  const limits = { reuseForMs, timeoutMs: READ_TIMEOUT_MS }
  const reading = <T extends PlatformUser | PlatformTeam>(
    resource: Resource,
    parse: (object: KubeObject) => T,
  ): ((name: string) => Promise<T | undefined>) =>
    singleFlight(
      clock,
      async (name, signal) => {
        const object = await client.get(resource, { name }, signal)
        const parsed = object && parse(object)
        return parsed && hasExpectedName(parsed) ? parsed : undefined
      },
      limits,
    )
  const [readUser, readTeam] = [reading(USERS, parseUser), reading(TEAMS, parseTeam)]
  return {
    readWithRelated: async (names, teamNames = []) => {
      const found = await reader.readWithRelated(names)
      const wanted = wantedNames(found, names, teamNames)
      if (wanted.users.length + wanted.teams.length > MAX_READS)
        throw new Error('too many people and teams to read')
      const [users, teams] = await Promise.all([
        Promise.all(wanted.users.map((name) => readUser(objectNameFor(name)))),
        Promise.all(wanted.teams.map((name) => readTeam(objectNameFor(name)))),
      ])
      return { ...found, people: peopleOf(users.filter(isThere), teams.filter(isThere)) }
    },
  }
}

const isThere = <T>(one: T | undefined): one is T => one !== undefined

/** The names of people and teams to read. */
interface WantedNames {
  readonly users: readonly string[]
  readonly teams: readonly string[]
}

/** Whom the keys act as, and the teams of those that were asked for by name: only their groups count. */
function wantedNames(
  { keys, people }: LiveKeys,
  names: readonly string[],
  teamNames: readonly string[],
): WantedNames {
  const identities = keys.map(({ identity }) => identity)
  const teamsOfPeople = keys
    .filter(({ name }) => names.includes(name))
    .flatMap(({ identity }) => people.teamsOf(identity ?? ''))
  return {
    users: [...new Set(identities.flatMap((identity) => usernameIn(identity) ?? []))],
    teams: [
      ...new Set([
        ...identities.flatMap((identity) => teamNameIn(identity) ?? []),
        ...teamsOfPeople,
        ...teamNames,
      ]),
    ],
  }
}

function peopleOf(users: readonly PlatformUser[], teams: readonly PlatformTeam[]): People {
  const user: People['user'] = (identity) => users.find((one) => identityOfUser(one) === identity)
  return {
    user,
    team: (identity) => teams.find((one) => identityOfTeam(one) === identity),
    teamsOf: (identity) =>
      teamNamesOf(teams.filter((team) => givesGroupTo(team, identity, user(identity)))),
    isInTeam: (identity, teamName) =>
      teams.some(
        (team) => team.teamName === teamName && givesGroupTo(team, identity, user(identity)),
      ),
  }
}
