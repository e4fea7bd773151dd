// What the operator says about Users, Teams and their keys (contract 24.1, 24.2, 24.5).
import { describe, expect, test } from 'vitest'
import { IDENTITY_GONE_ANNOTATION, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { formatTimestamp } from '../../../src/domain/time.ts'
import { objectNameFor } from '../../../src/people/people-index.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { conditionIn } from '../../support/object-client.ts'
import { EVENT_WITHIN, keyClientOf } from '../keys/key-client.ts'
import { controllerOf } from '../tokens/token-client.ts'
import { teamClientOf, userClientOf } from './people-client.ts'

const plane = await sharedControlPlane()
const [users, teams, keys] = [userClientOf(plane), teamClientOf(plane), keyClientOf(plane)]

describe.concurrent('a User', () => {
  test('is adopted and Active, and what another manager wrote to its status stays (24.1, 24.2)', async () => {
    const created = await users.create({ displayName: 'Ada' })
    const status = {
      lastSignIn: '2026-11-21T10:00:00Z',
      groups: [{ connector: 'oidc', name: 'dev' }],
    }
    await users.shown(created, 'Active')
    await users.apply(
      created,
      'sign-in',
      { metadata: { uid: created.metadata.uid }, status },
      'status',
    )
    await users.patch(created, { spec: { disabled: true } })
    const disabled = await users.shown(created, 'Disabled')
    expect(disabled.metadata.finalizers).toEqual([REVOKE_FINALIZER])
    expect(disabled.status).toMatchObject({ ...status, username: created.metadata.name })
    expect(conditionIn(disabled, 'Stalled').reason).toBe('Disabled')
  })

  test('has the form of its user name as name, or no effect, and status says the right one (24.3)', async () => {
    const username = `${uniqueName('Ada')}@Example.com`
    const wrong = await users.create({ username, disabled: true })
    const key = await keys.create({ user: username })
    const mismatch = await users.shown(wrong, 'NameMismatch')
    expect(conditionIn(mismatch, 'Ready').message).toContain(objectNameFor(username))
    await keys.shown(key, 'Active')
    const right = await users.create(
      { username, disabled: true },
      { name: objectNameFor(username) },
    )
    await users.shown(right, 'Disabled')
    await keys.shown(key, 'UserDisabled')
    await users.remove(wrong)
    await users.gone(wrong)
    expect(await keys.read(key)).not.toBeNull()
  })
})

describe.concurrent('a key of a person', () => {
  test('does not work while its User is disabled, whether it was made before or after that (24.2)', async () => {
    const user = await users.create()
    const { name } = user.metadata
    const old = await keys.shown(await keys.create({ user: name }), 'Active')
    await users.patch(user, { spec: { disabled: true } })
    const young = await keys.create({ user: name })
    for (const key of [old, young]) {
      const refused = await keys.shown(key, 'UserDisabled')
      expect(conditionIn(refused, 'Ready').message).toBe(
        `User ${name} is disabled, so the key does not work: remove spec.disabled of the User to let its keys work again.`,
      )
      expect(refused.status.conditions?.map(({ type }) => type)).toEqual(['Ready'])
    }
    await users.patch(user, { spec: { disabled: null } })
    await Promise.all([old, young].map((key) => keys.shown(key, 'Active')))
  })

  test('that is owned by a key of a disabled User does not work either (10.3, 24.5)', async () => {
    const user = await users.create({ disabled: true })
    const owner = await keys.create({ user: user.metadata.name })
    const owned = await keys.create({}, { ownerReferences: [controllerOf(owner)] })
    await keys.shown(owned, 'OwnerNotReady')
    await users.patch(user, { spec: { disabled: false } })
    expect((await keys.shown(owned, 'Active')).status.identity).toBe('user:ada')
  })

  // biome-ignore format: a table
  test.each([
    { value: `${new Date().toISOString()} IdentityGone`, reason: 'IdentityGone' },
    { value: `${new Date().toISOString()} SignInAgain`, reason: 'SignInAgain' },
    { value: 'whatever', reason: 'IdentityGone' },
  ])('with annotation identity-gone `$value` is $reason (24.5)', async ({ value, reason }) => {
    const key = await keys.create({ type: 'Login' }, { annotations: { [IDENTITY_GONE_ANNOTATION]: value } })
    expect(conditionIn(await keys.shown(key, reason), 'Ready').status).toBe('False')
  })

  test('of type Login becomes IdentityStale by time alone, and comes back with a refresh (24.5)', async () => {
    const DAY_MS = 86_400_000
    const key = await keys.create({
      type: 'Login',
      user: uniqueName('user'),
      identityRefresh: formatTimestamp(Date.now() - DAY_MS + 8000),
    })
    await keys.shown(key, 'Active')
    await keys.shown(key, 'IdentityStale')
    await keys.patch(key, { spec: { identityRefresh: formatTimestamp(Date.now()) } })
    const refreshed = await keys.shown(key, 'Active')
    expect(conditionIn(refreshed, 'Ready').status).toBe('True')
  })
})

describe.concurrent('a User in many Teams (24.2)', () => {
  test('gets Warning Event TooManyTeams with 201, not with 200', async () => {
    const user = await users.create()
    const { name } = user.metadata
    const make = () => teams.create({ users: [name] })
    const made = await Promise.all(Array.from({ length: 200 }, make))
    await Promise.all(made.slice(-3).map((team) => teams.shown(team, 'Active')))
    const active = await users.shown(user, 'Active')
    expect(conditionIn(active, 'Ready').message).toBe(`Keys of user ${name} may work.`)
    await make()
    const said = await users.until(user, 'is in too many', (one) =>
      conditionIn(one, 'Ready').message.includes('201 Teams'),
    )
    const events = await eventually(
      'the event is there',
      async () => {
        const found = await users.events(said)
        return found.length > 0 ? found : undefined
      },
      EVENT_WITHIN,
    )
    expect(events).toMatchObject([{ type: 'Warning', reason: 'TooManyTeams' }])
  })
})
