/** @module-tag no-retry */
// Tokens under the keys of people and teams (contract 5.4, 7.1, 24.2, 24.5).
import { describe, expect, test } from 'vitest'
import { IDENTITY_GONE_ANNOTATION } from '../../../src/api/names.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { staysTrue } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { conditionIn } from '../../support/object-client.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { claimsIn, platformStateOf } from '../tokens/platform-state.ts'
import { FOREIGN, type StoredToken, tokenClientOf, under } from '../tokens/token-client.ts'
import { teamClientOf, userClientOf } from './people-client.ts'

const plane = await sharedControlPlane()
const [users, teams] = [userClientOf(plane), teamClientOf(plane)]
const [keys, tokens] = [keyClientOf(plane), tokenClientOf(plane)]
const platform = platformStateOf(plane)

/** A user in these teams, with a key and an issued token. */
async function personIn(...names: readonly string[]) {
  const user = await users.create()
  const { name } = user.metadata
  const made = await Promise.all(
    names.map((team) => teams.create({ users: [name] }, { name: team })),
  )
  await Promise.all([
    users.shown(user, 'Active'),
    ...made.map((team) => teams.shown(team, 'Active')),
  ])
  const key = await keys.shown(await keys.create({ user: name }), 'Active')
  return { user, key, token: await tokens.issue({}, under(key)) }
}

const staysIssued = ({ metadata: { name }, status }: StoredToken): Promise<void> =>
  staysTrue(
    'it is issued',
    async () => expect((await tokens.read(name))?.status.token).toBe(status.token),
    { forMs: 1500 },
  )

const twoTeams = (): readonly [string, string] => [uniqueName('a-team'), uniqueName('b-team')]

describe.concurrent('a token under a key of a user', () => {
  test('has a group for each Team of the user, and stays while another one is gained (7.1, 24.2)', async () => {
    const names = twoTeams()
    const { user, token } = await personIn(...names)
    expect(claimsIn(token).groups).toEqual([
      'authenticated',
      `user:${user.metadata.name}`,
      ...names.map((name) => `team:${name}`),
    ])
    const gained = await teams.create(
      { users: [user.metadata.name] },
      { name: uniqueName('0-team') },
    )
    await teams.shown(gained, 'Active')
    await staysIssued(token)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'leaves a Team', lose: (team: string) => teams.patch(team, { spec: { users: [] } }) },
    { name: 'is in a Team that is deleted', lose: (team: string) => teams.remove(team) },
  ])('is revoked for good when the user $name (5.4)', async ({ lose }) => {
    const names = twoTeams()
    const { user, key, token } = await personIn(...names)
    await lose(names[0])
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain(`is not in team ${names[0]} any more`)
    // The records at the resourceVersion of that status.
    expect(await platform.revokedAt(revoked.metadata.resourceVersion)).toHaveProperty([token.metadata.uid])
    const again = await tokens.issue({}, under(key))
    expect(claimsIn(again).groups).toEqual(['authenticated', `user:${user.metadata.name}`, `team:${names[1]}`])
  })

  test('is revoked for good when the User is disabled, and a new one is issued once it is enabled (5.4)', async () => {
    const { user, key, token } = await personIn()
    await users.patch(user, { spec: { disabled: true } })
    await tokens.shown(token, 'Revoked')
    const waiting = await tokens.create({}, under(key))
    await tokens.shown(waiting, 'OwnerNotReady')
    await users.patch(user, { spec: { disabled: false } })
    await tokens.shown(waiting, 'Issued')
    expect((await tokens.read(token))?.status.token).toBeUndefined()
  })

  test('is revoked for good when the person is gone, and not while the person must sign in again (5.4)', async () => {
    const { key, token } = await personIn()
    const gone = (reason: string) => ({
      metadata: {
        annotations: { [IDENTITY_GONE_ANNOTATION]: `${new Date().toISOString()} ${reason}` },
      },
    })
    await keys.patch(key, gone('SignInAgain'))
    await keys.shown(key, 'SignInAgain')
    await staysIssued(token)
    await keys.patch(key, gone('IdentityGone'))
    const revoked = await tokens.shown(token, 'Revoked')
    expect(conditionIn(revoked, 'Ready').message).toContain('gone at the sign-in provider')
  })
})

test('a token under a key of a team is revoked for good when the Team is being deleted (5.4)', async () => {
  const team = await teams.shown(await teams.create({}, { finalizers: [FOREIGN] }), 'Active')
  const key = await keys.shown(
    await keys.create(
      { user: '', team: team.metadata.name },
      { labels: { 'kustomize.toolkit.fluxcd.io/name': 'platform' } },
    ),
    'Active',
  )
  const token = await tokens.issue({}, under(key))
  await teams.remove(team)
  const revoked = await tokens.shown(token, 'Revoked')
  expect(conditionIn(revoked, 'Ready').message).toContain('a team that is being deleted')
  await teams.patch(team, { metadata: { finalizers: null } })
  await teams.gone(team)
})
