// What people and teams do to the callers of keys (contract 10.3, 10.4, 24.2, 24.5).
import { describe, expect, test } from 'vitest'
import { IDENTITY_GONE_ANNOTATION } from '../../../src/api/names.ts'
import type { KeyCaller } from '../../../src/authn/caller.ts'
import { objectNameFor } from '../../../src/people/people-index.ts'
import { textAfter } from '../../support/key-builder.ts'
import { teamObject, userObject } from '../../support/object-builder.ts'
import {
  key,
  ownedBy,
  secretOf,
  type TestAuthenticator,
  testAuthenticatorAmong,
} from './test-authenticator.ts'

const DELETED = { deletionTimestamp: textAfter(0) }
const DISABLED = userObject({ metadata: { resourceVersion: '2' }, spec: { disabled: true } })
const ENABLED = userObject({ metadata: { resourceVersion: '3' } })
const team = (name: string, users: readonly string[], metadata: object = {}) =>
  teamObject({ metadata: { name: objectNameFor(name), ...metadata }, spec: { name, users } })

async function callerOf({ callers }: TestAuthenticator, name: string): Promise<KeyCaller> {
  const found = await callers.authenticate(secretOf(name))
  if (!found.ok) throw new Error(found.because)
  return found.caller
}

const groupsOf = async (stage: TestAuthenticator, name = 'a'): Promise<readonly string[]> => {
  const { groups } = (await callerOf(stage, name)).identity
  return groups.filter((group) => group.startsWith('platform:team:'))
}

describe('a key is refused (10.3, 24.5)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'of a disabled user', people: [DISABLED], because: 'userDisabled' },
    { name: 'of a user who is being deleted', people: [userObject({ metadata: DELETED })], because: 'userDisabled' },
    { name: 'of a team that is being deleted', people: [team('sre', [], DELETED)], spec: { user: '', team: 'sre' }, because: 'teamGone' },
    { name: 'of a person who is gone', metadata: { annotations: { [IDENTITY_GONE_ANNOTATION]: 'x IdentityGone' } }, because: 'identityGone' },
    { name: 'of a person who must sign in again', metadata: { annotations: { [IDENTITY_GONE_ANNOTATION]: 'x SignInAgain' } }, because: 'signInAgain' },
    { name: 'that was not refreshed for 24 h', spec: { type: 'Login' as const, identityRefresh: textAfter(-86_401) }, because: 'identityStale' },
    { name: 'for its person, though it has expired too', people: [DISABLED], spec: { ttl: 1 }, metadata: { creationTimestamp: textAfter(-5) }, because: 'userDisabled' },
  ])('$name', async ({ people = [], spec = {}, metadata = {}, because }) => {
    const { outcome } = testAuthenticatorAmong(people, key('a', spec, { metadata }))
    expect(await outcome(secretOf('a'))).toBe(because)
  })

  test('that a key of a disabled user owns', async () => {
    const owned = key('b', { user: 'bob' }, ownedBy('a'))
    const { outcome } = testAuthenticatorAmong([DISABLED], key('a'), owned)
    expect(await outcome(secretOf('b'))).toBe('owner')
  })

  test('once it is stale, and so is what it owns: a caller knows the time', async () => {
    const [refreshed, later] = [textAfter(-86_395), textAfter(-80_000)]
    const stage = testAuthenticatorAmong(
      [],
      key('a', { type: 'Login', identityRefresh: refreshed }),
      key('b', { type: 'Login', identityRefresh: later }, ownedBy('a')),
      key('c'),
    )
    const staleMs = Date.parse(refreshed) + 86_400_001
    expect((await callerOf(stage, 'a')).staleMs).toBe(staleMs)
    expect((await callerOf(stage, 'b')).staleMs).toBe(staleMs)
    expect(await callerOf(stage, 'c')).not.toHaveProperty('staleMs')
    stage.now.proven = { wallMs: staleMs, monotonicMs: 1e12 }
    await stage.clock.advance(5000)
    expect(await stage.outcome(secretOf('a'))).toBe('ada')
    await stage.clock.advance(1)
    expect(await stage.outcome(secretOf('a'))).toBe('identityStale')
    expect(await stage.outcome(secretOf('b'))).toBe('owner')
  })

  test('until the user is enabled again', async () => {
    const { outcome, stores } = testAuthenticatorAmong([], key('a'))
    expect(await outcome(secretOf('a'))).toBe('ada')
    stores.users.put(DISABLED)
    expect(await outcome(secretOf('a'))).toBe('userDisabled')
    stores.users.put(ENABLED)
    expect(await outcome(secretOf('a'))).toBe('ada')
  })
})

describe('the groups of a caller (24.2)', () => {
  test('have each team of the user, and none for a key of a team or subject', async () => {
    const stage = testAuthenticatorAmong(
      [team('sre', ['ada']), team('oidc:Dev', ['ada', 'bob']), team('other', ['bob'])],
      key('a'),
      key('t', { user: '', team: 'ada' }),
      key('s', { user: '', subject: 'ada' }),
    )
    expect(await groupsOf(stage)).toEqual(['platform:team:oidc:Dev', 'platform:team:sre'])
    expect(await groupsOf(stage, 't')).toEqual(['platform:team:ada'])
    expect(await groupsOf(stage, 's')).toEqual([])
  })

  test('are computed once for a key and its teams', async () => {
    const stage = testAuthenticatorAmong([team('sre', ['ada'])], key('a'))
    const [first, second] = [await callerOf(stage, 'a'), await callerOf(stage, 'a')]
    expect(first.identity).toBe(second.identity)
    stage.stores.teams.put(team('dev', ['ada'], { resourceVersion: '5' }))
    expect(await groupsOf(stage)).toEqual(['platform:team:dev', 'platform:team:sre'])
  })

  test.each([
    {
      name: 'a team gained cuts nothing',
      now: [['sre', ['ada']] as const, ['dev', ['ada']] as const],
      result: 'ada',
    },
    { name: 'a team lost cuts', now: [['sre', ['bob']] as const], result: 'changed' },
    {
      name: 'a team exchanged for another cuts',
      now: [['sre', ['bob']] as const, ['dev', ['ada']] as const],
      result: 'changed',
    },
    {
      name: 'a team with other people cuts nothing',
      now: [['sre', ['bob', 'ada']] as const],
      result: 'ada',
    },
  ])('tell an earlier caller from the present one: $name', async ({ now, result }) => {
    const stage = testAuthenticatorAmong([team('sre', ['ada'])], key('a'))
    const caller = await callerOf(stage, 'a')
    for (const [name, users] of now)
      stage.stores.teams.put(team(name, users, { resourceVersion: '9' }))
    const again = await stage.callers.reauthenticate(caller)
    expect(again.ok ? again.caller.identity.user : again.because).toBe(result)
  })
})

describe('people and teams of a watch that is not proven (10.4, 24.5)', () => {
  const stale = (people: Parameters<typeof testAuthenticatorAmong>[0]) => {
    const stage = testAuthenticatorAmong(people, key('a'))
    stage.now.proven = null
    return stage
  }

  test('are read from the API server: a user who was disabled since', async () => {
    const stage = stale([userObject()])
    stage.now.storedPeople = [DISABLED]
    expect(await stage.outcome(secretOf('a'))).toBe('userDisabled')
    expect(stage.peopleReads).toEqual(['User ada'])
  })

  test('are read from the API server: a user who was enabled since', async () => {
    const stage = stale([DISABLED])
    stage.now.storedPeople = [ENABLED]
    expect(await stage.outcome(secretOf('a'))).toBe('ada')
  })

  test('are read from the API server: a User whose name is not the form counts for nothing', async () => {
    const stage = stale([])
    stage.now.storedPeople = [userObject({ spec: { username: 'bob', disabled: true } })]
    expect(await stage.outcome(secretOf('a'))).toBe('ada')
  })

  test('are read from the API server: such a User counts for no owner either', async () => {
    const owned = key('a', {}, ownedBy('b'))
    const stage = testAuthenticatorAmong([], owned, key('b', { user: 'bob' }))
    stage.now.proven = null
    stage.now.storedPeople = [userObject({ spec: { username: 'bob', disabled: true } })]
    expect(await stage.outcome(secretOf('a'))).toBe('ada')
  })

  test.each([
    {
      name: 'that the user is still in',
      stored: [team('sre', ['ada'])],
      groups: ['platform:team:sre'],
    },
    { name: 'that the user has left', stored: [team('sre', ['bob'])], groups: [] },
    { name: 'that is being deleted', stored: [team('sre', ['ada'], DELETED)], groups: [] },
    { name: 'that is gone', stored: [], groups: [] },
  ])('give the group of a team $name', async ({ stored, groups }) => {
    const stage = stale([team('sre', ['ada'])])
    stage.now.storedPeople = stored
    expect(await groupsOf(stage)).toEqual(groups)
  })

  test('give the group of a team by the groups of the provider as they are now', async () => {
    const groups = [{ connector: 'oidc', name: 'dev' }]
    const bySso = teamObject({ spec: { groups } })
    const stage = stale([bySso, userObject({ status: { groups } })])
    stage.now.storedPeople = [bySso, userObject({ status: { groups: [] } })]
    expect(await groupsOf(stage)).toEqual([])
  })

  test('are read with Teams that the index lacks, where these are asked for by name', async () => {
    const stage = stale([userObject()])
    stage.now.storedPeople = [userObject(), team('new', ['ada'])]
    const { people } = await stage.reader.readWithRelated(['a'], ['new', 'none'])
    expect(people.teamsOf('user:ada')).toEqual(['new'])
    const inTeams = ['new', 'none'].map((name) => people.isInTeam('user:ada', name))
    expect([...inTeams, people.isInTeam('user:bob', 'new')]).toEqual([true, false, false])
  })

  test('are read together for all requests of a second', async () => {
    const stage = stale([userObject(), team('sre', ['ada'])])
    await Promise.all([1, 2, 3].map(() => stage.outcome(secretOf('a'))))
    expect(stage.peopleReads.toSorted()).toEqual(['Team sre', 'User ada'])
  })

  test('refuse every key where they can’t be read', async () => {
    const stage = stale([userObject()])
    stage.now.storedPeople = null
    expect(await stage.outcome(secretOf('a'))).toBe('unavailable')
  })

  test('refuse a key that needs more than 512 of them', async () => {
    const many = ['ada', 'bob', 'eve'].flatMap((user) =>
      Array.from({ length: 200 }, (_, at) => team(`${user}-${at}`, [user])),
    )
    const owners = ['bob', 'eve'].map((user) => key(user, { key: secretOf('a'), user }))
    const stage = testAuthenticatorAmong(many, key('a'), ...owners)
    stage.now.proven = null
    expect(await stage.outcome(secretOf('a'))).toBe('unavailable')
    expect(stage.peopleReads).toEqual([])
  })
})
