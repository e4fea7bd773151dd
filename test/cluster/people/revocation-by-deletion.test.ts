/** @module-tag no-retry */
// The deletion of Users and Teams ends every key of the person or team (contract 24.2).
import { describe, expect, test } from 'vitest'
import { API_VERSION, REVOKE_FINALIZER, USERS } from '../../../src/api/names.ts'
import type { OwnerReference } from '../../../src/api/objects.ts'
import { objectNameFor } from '../../../src/people/people-index.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type Propagation, conditionIn } from '../../support/object-client.ts'
import { EVENT_WITHIN, type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from '../tokens/platform-state.ts'
import { FOREIGN, tokenClientOf, under } from '../tokens/token-client.ts'
import { type StoredUser, TRACKED, teamClientOf, userClientOf } from './people-client.ts'

const plane = await sharedControlPlane()
const [users, teams] = [userClientOf(plane), teamClientOf(plane)]
const [keys, tokens] = [keyClientOf(plane), tokenClientOf(plane)]
const platform = platformStateOf(plane)

const ownedBy = ({ metadata: { name, uid } }: StoredUser): OwnerReference => ({
  apiVersion: API_VERSION,
  kind: USERS.kind,
  name,
  uid,
  blockOwnerDeletion: true,
})

/** A key of every origin: by hand, at a sign-in, from Git, in conflict, ended and never adopted. */
async function keysOf(user: StoredUser) {
  const { name } = user.metadata
  const active = await keys.shown(await keys.create({ user: name }), 'Active')
  return {
    active,
    signedIn: await keys.create(
      { user: name, type: 'Login' },
      { ownerReferences: [ownedBy(user)] },
    ),
    disabled: await keys.shown(await keys.create({ user: name, disabled: true }), 'Disabled'),
    tracked: await keys.create({ user: name }, TRACKED.Flux),
    young: await keys.create({ user: name }),
  }
}

const isKept = ({ spec }: StoredKey): boolean => spec.disabled === true

describe.concurrent('a deleted User', () => {
  test.each<Propagation>(['Background', 'Foreground', 'Orphan'])(
    'takes every key and token along, and disables what a GitOps tool applies: %s (24.2)',
    async (propagation) => {
      const user = await users.shown(await users.create(), 'Active')
      const { tracked, ...others } = await keysOf(user)
      const token = await tokens.issue({}, under(others.active))
      await users.remove(user, propagation)
      await users.gone(user)
      await Promise.all(Object.values(others).map((key) => keys.gone(key)))
      await tokens.gone(token)
      await keys.shown(await keys.until(tracked, 'is disabled', isKept), 'Disabled')
      expect(await platform.revoked()).toHaveProperty([token.metadata.uid])
    },
  )

  test('frees its name: a key that is made for it later works (24.2)', async () => {
    const user = await users.shown(await users.create(), 'Active')
    await users.remove(user)
    await users.gone(user)
    const later = await keys.shown(await keys.create({ user: user.metadata.name }), 'Active')
    expect(later.metadata.deletionTimestamp).toBeUndefined()
  })

  test('with characters that a field selector escapes ends its own keys only (24.2, 24.3)', async () => {
    const username = `${uniqueName('ada')},spec.user=x\\y=z`
    const user = await users.create({ username }, { name: objectNameFor(username) })
    const [own, other] = [
      await keys.create({ user: username }),
      await keys.create({ user: 'x\\y=z' }),
    ]
    await users.shown(user, 'Active')
    await users.remove(user)
    await users.gone(user)
    expect(await keys.read(own)).toBeNull()
    expect(await keys.read(other)).not.toBeNull()
  })

  test('is released while others hold it and one of its keys, and keys made meanwhile do not work until it is gone (24.2)', async () => {
    const user = await users.shown(await users.create(), 'Active')
    const { name } = user.metadata
    // Another finalizer than ours on a key does not hold its User.
    const held = await keys.shown(
      await keys.create({ user: name }, { finalizers: [FOREIGN] }),
      'Active',
    )
    const other = await keys.shown(await keys.create({ user: name }), 'Active')
    await users.patch(user, { metadata: { finalizers: [FOREIGN, REVOKE_FINALIZER] } })
    await users.remove(user)
    const released = await users.until(
      user,
      'is released',
      ({ metadata }) => !(metadata.finalizers ?? []).includes(REVOKE_FINALIZER),
    )
    expect(conditionIn(released, 'Ready')).toMatchObject({ status: 'False', reason: 'Terminating' })
    expect(await keys.read(other)).toBeNull()
    expect((await keys.read(held))?.metadata.deletionTimestamp).toBeDefined()
    const late = await keys.create({ user: name })
    await keys.shown(late, 'UserDisabled')
    await keys.patch(held, { metadata: { finalizers: null } })
    await users.patch(user, { metadata: { finalizers: null } })
    await users.gone(user)
    await keys.shown(late, 'Active')
  })
})

describe.concurrent('a key that a GitOps tool applies (24.2)', () => {
  test.each(Object.entries(TRACKED))(
    '%s: an Event says that the tool may bring it back',
    async (_, marks) => {
      const user = await users.shown(await users.create(), 'Active')
      const key = await keys.create({ user: user.metadata.name }, marks)
      await users.remove(user)
      await users.gone(user)
      expect((await keys.read(key))?.spec.disabled).toBe(true)
      const kept = await eventually(
        'the event is there',
        async () => (await keys.events(key)).find(({ reason }) => reason === 'KeyKept'),
        EVENT_WITHIN,
      )
      expect(kept).toMatchObject({ type: 'Warning' })
      expect(kept.message).toContain('may enable it again')
    },
  )
})

describe.concurrent('a deleted Team', () => {
  test('takes the keys of the team along, and no key of its people (24.2)', async () => {
    const person = uniqueName('user')
    const team = await teams.shown(await teams.create({ users: [person] }), 'Active')
    const own = await keys.create({ user: '', team: team.metadata.name })
    const tracked = await keys.create({ user: '', team: team.metadata.name }, TRACKED['Argo CD'])
    const ofPerson = await keys.create({ user: person })
    await teams.remove(team)
    await teams.gone(team)
    expect(await keys.read(own)).toBeNull()
    expect((await keys.read(tracked))?.spec.disabled).toBe(true)
    await keys.shown(ofPerson, 'Active')
  })

  test('ends its keys before they are gone: TeamGone (24.5)', async () => {
    const team = await teams.shown(await teams.create({}, { finalizers: [FOREIGN] }), 'Active')
    await teams.remove(team)
    await teams.shown(team, 'Terminating')
    const late = await keys.shown(
      await keys.create({ user: '', team: team.metadata.name }),
      'TeamGone',
    )
    expect(conditionIn(late, 'Ready').message).toBe(
      `Team ${team.metadata.name} is being deleted, and its keys with it: none of them works.`,
    )
    await teams.patch(team, { metadata: { finalizers: null } })
    await teams.gone(team)
  })
})
