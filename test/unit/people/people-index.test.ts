// Which teams a person is in (24.2), and whose keys a change of a User or a Team affects.
import { describe, expect, test } from 'vitest'
import type { TeamSpec } from '../../../src/api/team.gen.ts'
import type { UserStatus } from '../../../src/api/user.gen.ts'
import { MAX_TEAMS, NO_TEAMS } from '../../../src/domain/people/people.ts'
import { objectNameFor, teamIn } from '../../../src/people/people-index.ts'
import { randomFrom } from '../../support/random.ts'
import { teamObject, userObject } from '../../support/object-builder.ts'
import { peopleOf, peopleStores } from './people-builder.ts'

const DELETED = '2026-11-21T11:00:00Z'

/** A Team of that name under the name that belongs to it. */
const team = (name: string, spec: TeamSpec = {}, metadata: object = {}) =>
  teamObject({ metadata: { name: objectNameFor(name), ...metadata }, spec: { name, ...spec } })

/** A User with groups at a provider. */
const user = (username: string, groups: readonly string[] = [], metadata: object = {}) =>
  userObject({
    metadata: { name: objectNameFor(username), ...metadata },
    spec: { username },
    status: { groups: groups.map((name) => ({ connector: 'oidc', name })) } satisfies UserStatus,
  })

const inOidc = (...names: readonly string[]) => names.map((name) => ({ connector: 'oidc', name }))

describe('the teams of a person (24.2)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'none', teams: [team('sre')], found: [] },
    { name: 'by user name, without a User', teams: [team('sre', { users: ['ada'] })], users: [], found: ['sre'] },
    { name: 'by user name, in other letters', teams: [team('sre', { users: ['Ada'] })], found: [] },
    { name: 'by a group of the provider', teams: [team('sre', { groups: inOidc('dev') })], found: ['sre'] },
    { name: 'by a group of that name at another provider', teams: [team('sre', { groups: [{ connector: 'saml', name: 'dev' }] })], found: [] },
    { name: 'by both, once', teams: [team('sre', { users: ['ada'], groups: inOidc('dev', 'ops') })], found: ['sre'] },
    { name: 'with a colon in its name', teams: [team('oidc:Dev', { users: ['ada'] })], found: ['oidc:Dev'] },
    { name: 'in the order of bytes', teams: [team('b', { users: ['ada'] }), team('B', { users: ['ada'] }), team('a', { users: ['ada'] })], found: ['B', 'a', 'b'] },
    { name: 'without one that is being deleted', teams: [team('sre', { users: ['ada'] }, { deletionTimestamp: DELETED }), team('dev', { users: ['ada'] })], found: ['dev'] },
    { name: 'without one whose name is not the form', teams: [team('sre', { users: ['ada'] }, { name: 'other' })], found: [] },
    { name: 'by a group of a User whose name is not the form', users: [user('ada', ['dev'], { name: 'other' })], teams: [team('sre', { groups: inOidc('dev') })], found: [] },
  ])('are found: $name', ({ users = [user('ada', ['dev', 'ops'])], teams, found }) => {
    const people = peopleOf(users, teams)
    expect(people.teamsOf('user:ada')).toEqual(found)
    const isIn = teams.map(({ spec }) => spec?.name ?? '').filter((name) => people.isInTeam('user:ada', name))
    expect(isIn.toSorted()).toEqual(found)
  })

  test.each([{ count: 200 }, { count: 201 }])('are the first 200 of $count', ({ count }) => {
    const names = Array.from({ length: count }, (_, at) => `t${1000 + at}`)
    const people = peopleOf(
      [],
      names.toReversed().map((name) => team(name, { users: ['ada'] })),
    )
    expect(people.teamsOf('user:ada')).toEqual(names.slice(0, MAX_TEAMS))
    expect(people.allTeamsOf('user:ada')).toHaveLength(count)
    expect(people.isInTeam('user:ada', names.at(-1) ?? '')).toBe(true)
    expect(people.isInTeam('user:bob', names[0] ?? '')).toBe(false)
  })

  test.each(['team:ada', 'subject:ada', 'ada', ''])('are none for %j', (identity) => {
    expect(peopleOf([], [team('sre', { users: ['ada', ''] })]).teamsOf(identity)).toEqual([])
  })

  test('are the same object until they change', () => {
    const { people, teams } = peopleStores([], [team('sre', { users: ['ada'] })])
    const before = people.teamsOf('user:ada')
    teams.put(team('dev', { users: ['bob'] }, { resourceVersion: '2' }))
    expect(people.teamsOf('user:ada')).toBe(before)
    teams.put(team('dev', { users: ['bob', 'ada'] }, { resourceVersion: '3' }))
    expect(people.teamsOf('user:ada')).toEqual(['dev', 'sre'])
    expect(people.teamsOf('user:eve')).toBe(NO_TEAMS)
  })
})

test('a Team is found by its name, unless its object counts for nothing (24.1)', () => {
  const { teams } = peopleStores(
    [],
    [
      team('oidc:Sre', {}, { uid: 'right' }),
      team('oidc:dev', {}, { name: 'other' }),
      team('ops', {}, { deletionTimestamp: DELETED }),
    ],
  )
  expect(teamIn(teams, 'oidc:Sre')?.uid).toBe('right')
  expect(teamIn(teams, 'ops')?.isDeleting).toBe(true)
  expect(['oidc:dev', 'oidc:sre', 'other', ''].map((name) => teamIn(teams, name))).toEqual(
    Array.from({ length: 4 }, () => undefined),
  )
})

describe('a change affects the keys (24.2)', () => {
  /** The identities that the second state of the objects affects. */
  const affected = (
    before: readonly ReturnType<typeof user | typeof team>[],
    after: readonly ReturnType<typeof user | typeof team>[],
  ): readonly string[] => {
    const ofKind = (kind: string, objects: typeof before) =>
      objects.filter((one) => one.kind === kind)
    const { people, users, teams } = peopleStores(ofKind('User', before), ofKind('Team', before))
    const seen: string[] = []
    people.subscribe((identities) => seen.push(...identities))
    for (const [store, kind] of [
      [users, 'User'],
      [teams, 'Team'],
    ] as const) {
      store.begin()
      for (const { metadata, ...rest } of ofKind(kind, after))
        store.put({ ...rest, metadata: { ...metadata, resourceVersion: '9' } })
      store.end()
    }
    return seen.toSorted()
  }
  const disabled = userObject({ spec: { disabled: true } })

  // biome-ignore format: a table
  test.each([
    { name: 'of no person where nothing changes', before: [user('ada', ['dev']), team('sre', { users: ['ada'] })], after: [user('ada', ['dev']), team('sre', { users: ['ada'] })], found: [] },
    { name: 'of the person who is disabled', before: [userObject()], after: [disabled], found: ['user:ada'] },
    { name: 'of the person who is enabled', before: [disabled], after: [userObject()], found: ['user:ada'] },
    { name: 'of the person who appears', before: [], after: [disabled], found: ['user:ada'] },
    { name: 'of the person who goes', before: [disabled], after: [], found: ['user:ada'] },
    { name: 'of the person whose groups change', before: [user('ada', ['dev'])], after: [user('ada', ['ops'])], found: ['user:ada'] },
    { name: 'of no person where the groups change their order', before: [user('ada', ['dev', 'ops'])], after: [user('ada', ['ops', 'dev'])], found: [] },
    { name: 'of no person for a User whose name is not the form', before: [], after: [userObject({ metadata: { name: 'x' }, spec: { username: 'ada', disabled: true } })], found: [] },
    { name: 'of the people of a new team, and of the team', before: [], after: [team('sre', { users: ['ada', 'bob'] })], found: ['team:sre', 'user:ada', 'user:bob'] },
    { name: 'of those who come and go', before: [team('sre', { users: ['ada', 'bob'] })], after: [team('sre', { users: ['bob', 'eve'] })], found: ['user:ada', 'user:eve'] },
    { name: 'of those in a group that comes', before: [user('ada', ['dev']), user('bob', ['ops']), team('sre')], after: [user('ada', ['dev']), user('bob', ['ops']), team('sre', { groups: inOidc('dev') })], found: ['user:ada'] },
    { name: 'of all in a team that is being deleted, and of the team', before: [user('ada', ['dev']), team('sre', { users: ['bob'], groups: inOidc('dev') })], after: [user('ada', ['dev']), team('sre', { users: ['bob'], groups: inOidc('dev') }, { deletionTimestamp: DELETED })], found: ['team:sre', 'user:ada', 'user:bob'] },
    { name: 'of the team alone that goes after its deletion began', before: [team('sre', { users: ['bob'] }, { deletionTimestamp: DELETED })], after: [], found: ['team:sre'] },
  ])('$name', ({ before, after, found }) => {
    expect(affected(before, after)).toEqual(found)
  })
})

test('the teams of everybody are right after any changes (24.2)', () => {
  const random = randomFrom(24)
  const isLikely = (share: number): boolean => random.between(0, 1) < share
  const some = (names: readonly string[]) => names.filter(() => isLikely(0.4))
  const people = ['ada', 'bob', 'eve', 'Kim']
  const groups = ['dev', 'ops', 'web']
  const { people: index, users, teams } = peopleStores()
  const stored = new Map<string, TeamSpec>()
  const groupsOf = new Map<string, readonly string[]>()
  for (let version = 1; version <= 400; version += 1) {
    const resourceVersion = String(version)
    if (isLikely(0.3)) {
      const name = random.pick(people)
      groupsOf.set(name, some(groups))
      users.put(user(name, groupsOf.get(name), { resourceVersion }))
    } else {
      const name = random.pick(['a', 'b', 'c', 'd', 'E'])
      const spec = { users: some(people), groups: inOidc(...some(groups)) }
      if (isLikely(0.2)) {
        stored.delete(name)
        teams.remove(team(name, {}, { resourceVersion }))
      } else {
        stored.set(name, spec)
        teams.put(team(name, spec, { resourceVersion }))
      }
    }
    for (const person of people) {
      const expected = [...stored].filter(
        ([, spec]) =>
          spec.users?.includes(person) ||
          spec.groups?.some(({ name = '' }) => groupsOf.get(person)?.includes(name)),
      )
      expect(index.teamsOf(`user:${person}`)).toEqual(expected.map(([name]) => name).toSorted())
    }
  }
})
