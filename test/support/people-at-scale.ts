// Measures 10,000 Users and 2,000 Teams in the stores of a gateway: run with --expose-gc, it prints the figures as JSON.
// Each User has 6 groups at a provider, one of them everybody's; each Team has 100 people and a group.
import type { KubeObject } from '../../src/api/objects.ts'
import type { ProviderGroup } from '../../src/api/provider-group.gen.ts'
import {
  createTeamStore,
  createUserStore,
  parseTeam,
  parseUser,
  peopleIn,
} from '../../src/people/people-index.ts'
import { teamObject, userObject } from './object-builder.ts'

/** What this process measured: bytes of memory, and milliseconds of CPU time. */
export interface PeopleAtScale {
  readonly bytesPerUser: number
  readonly bytesPerTeam: number
  /** The teams of a person that were looked up, with the user's entry in the cache. */
  readonly bytesPerLookup: number
  /** The longest time to store an object, the last of which is a Team of 1,000 people. */
  readonly longestPutMs: number
  /** A change that puts everybody into a team. */
  readonly everybodyMs: number
}

const USERS = 10_000
const TEAMS = 2000

const group = (name: string): ProviderGroup => ({ connector: 'oidc', name })

const user = (at: number): KubeObject =>
  userObject({
    metadata: { name: `user-${at}`, uid: `user-${at}`, resourceVersion: String(at + 1) },
    status: {
      groups: [
        group('everybody'),
        ...Array.from({ length: 5 }, (_, nth) => group(`group-${(at * 7 + nth * 13) % 500}`)),
      ],
    },
  })

const team = (at: number, version: number, groups: readonly ProviderGroup[]): KubeObject =>
  teamObject({
    metadata: { name: `team-${at}`, uid: `team-${at}`, resourceVersion: String(version) },
    spec: {
      users: Array.from({ length: 100 }, (_, nth) => `user-${(at * 31 + nth * 97) % USERS}`),
      groups,
    },
  })

function cpuMs(act: () => void): number {
  const before = process.threadCpuUsage()
  act()
  const { user: inUser, system } = process.threadCpuUsage(before)
  return (inUser + system) / 1000
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Lists the objects as a reflector does, parsed from JSON. @returns the longest time to store one, in milliseconds */
function list(
  store: { begin: () => void; put: (object: KubeObject) => void; end: () => void },
  count: number,
  make: (at: number) => KubeObject,
): number {
  let longest = 0
  store.begin()
  for (let at = 0; at < count; at += 1) {
    const object = JSON.parse(JSON.stringify(make(at))) as KubeObject
    const putMs = cpuMs(() => store.put(object))
    longest = Math.max(longest, putMs)
  }
  store.end()
  return longest
}

function measure(): PeopleAtScale {
  const stores = { users: createUserStore(parseUser), teams: createTeamStore(parseTeam) }
  const people = peopleIn(stores)
  people.subscribe(() => undefined)
  const empty = heapBytes()
  const usersMs = list(stores.users, USERS, user)
  const withUsers = heapBytes()
  const teamsMs = list(stores.teams, TEAMS, (at) =>
    team(at, USERS + at + 1, [group(`group-${at % 500}`)]),
  )
  const withTeams = heapBytes()
  for (let at = 0; at < USERS; at += 1) people.teamsOf(`user:user-${at}`)
  const withLookups = heapBytes()
  const crowd = Array.from({ length: 1000 }, (_, at) => `user-${at * 10}`)
  const crowdMs = cpuMs(() =>
    stores.teams.put(
      teamObject({
        metadata: { name: 'crowd', uid: 'crowd', resourceVersion: '500000' },
        spec: { users: crowd },
      }),
    ),
  )
  // The least of three: a busy machine takes from the caches of its cores.
  const everybodyMs = Math.min(
    ...[1_000_000, 2_000_000, 3_000_000].map((version) => {
      stores.teams.put(team(1, version, []))
      return cpuMs(() => stores.teams.put(team(1, version + 1, [group('everybody')])))
    }),
  )
  return {
    bytesPerUser: (withUsers - empty) / USERS,
    bytesPerTeam: (withTeams - withUsers) / TEAMS,
    bytesPerLookup: (withLookups - withTeams) / USERS,
    longestPutMs: Math.max(usersMs, teamsMs, crowdMs),
    everybodyMs,
  }
}

console.log(JSON.stringify(measure()))
