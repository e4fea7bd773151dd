// People and teams in stores, as a process has them.
import { NO_TEAMS, type People } from '../../../src/domain/people/people.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import {
  createTeamStore,
  createUserStore,
  parseTeam,
  parseUser,
  type PeopleIndex,
  peopleIn,
} from '../../../src/people/people-index.ts'

/** Stores of people and teams with the index over them, all listed. */
export function peopleStores(users: readonly KubeObject[] = [], teams: readonly KubeObject[] = []) {
  const stores = { users: createUserStore(parseUser), teams: createTeamStore(parseTeam) }
  const people = peopleIn(stores)
  for (const [store, objects] of [
    [stores.users, users],
    [stores.teams, teams],
  ] as const) {
    store.begin()
    for (const object of objects) store.put(object)
    store.end()
  }
  return { ...stores, people }
}

/** No Users and no Teams: each key is decided by its own fields alone. */
export const NO_PEOPLE: People = {
  user: () => undefined,
  team: () => undefined,
  teamsOf: () => NO_TEAMS,
  isInTeam: () => false,
}

/** The index over these people and teams. */
export const peopleOf = (users: readonly KubeObject[], teams: readonly KubeObject[]): PeopleIndex =>
  peopleStores(users, teams).people
