// Tokens that are deleted, and tokens whose owner is: recorded first, then gone (contract 5.1, 7.4).
// A foreign finalizer keeps an object where it matters what was so at the moment when ours went.
import { beforeAll, describe, expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type Propagation, conditionIn } from '../../support/object-client.ts'
import { type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'
import {
  FOREIGN,
  type StoredToken,
  collectorReady,
  controllerOf,
  tokenClientOf,
  under,
} from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)

/** For whatever the garbage collector has a part in. */
const collector = collectorReady(tokens)

const HELD = { finalizers: [FOREIGN] }
const OTHER = 'example.com/inventory'

/** An owner that works, and a token under it. */
async function pair(ofOwner: Partial<ObjectMeta> = {}, ofToken: Partial<ObjectMeta> = {}) {
  const owner = await keys.shown(await keys.create({}, ofOwner), 'Active')
  const token = await tokens.issue(
    {},
    { ...under(owner, { blockOwnerDeletion: true }), ...ofToken },
  )
  return { owner, token }
}

/** The object at the moment when the operator's finalizer has gone from it. */
const released = (token: StoredToken): Promise<StoredToken> =>
  tokens.until(token, 'is released', ({ metadata }) => !isOurs(metadata))

const isOurs = ({ finalizers = [] }: ObjectMeta): boolean => finalizers.includes(REVOKE_FINALIZER)

const free = (token: StoredToken): Promise<StoredToken> =>
  tokens.patch(token, { metadata: { finalizers: [] } })

/** Deletes a key as kubectl --cascade does. */
async function removeKey(key: StoredKey, propagationPolicy: Propagation): Promise<void> {
  const path = `/apis/management.platform.sh/v1/ownedaccesskeys/${key.metadata.name}`
  const { code } = await plane.raw('DELETE', path, { propagationPolicy })
  expect(code).toBe(200)
}

describe.concurrent('a token that is deleted', () => {
  test('is recorded and gone when kubectl returns (5.1, 7.4)', async () => {
    const token = await tokens.issue()
    const { code, stderr } = await plane.kubectl(['delete', 'dcet', token.metadata.name])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await tokens.read(token)).toBeNull()
    expect((await platform.revoked())[token.metadata.uid]).toBe(token.status.expirationTimestamp)
  })

  test('with all of a selection is recorded and gone (5.1, 7.4)', async () => {
    const labels = { batch: uniqueName('batch') }
    const issued = await Promise.all([1, 2, 3].map(() => tokens.issue({}, { labels })))
    await plane.kubectl(['delete', 'dcet', '-l', `batch=${labels.batch}`])
    const records = await platform.revoked()
    for (const token of issued) {
      expect(await tokens.read(token)).toBeNull()
      expect(records).toHaveProperty(token.metadata.uid)
    }
  })

  // biome-ignore format: a table
  test.each([
    { name: 'behind ours', finalizers: [REVOKE_FINALIZER, FOREIGN], left: [FOREIGN] },
    { name: 'before ours', finalizers: [FOREIGN, REVOKE_FINALIZER], left: [FOREIGN] },
    { name: 'on both sides', finalizers: [FOREIGN, REVOKE_FINALIZER, OTHER], left: [FOREIGN, OTHER] },
  ])('stays for a foreign finalizer $name, without its token (4.2, 5.1, 7.4)', async ({ finalizers, left }) => {
    const issued = await tokens.issue()
    const token = await tokens.patch(issued, [{ op: 'replace', path: '/metadata/finalizers', value: finalizers }])
    await tokens.remove(token)
    const freed = await released(token)
    expect(freed.metadata.finalizers).toEqual(left)
    const records = await platform.revokedAt(freed.metadata.resourceVersion)
    expect(records[token.metadata.uid]).toBe(token.status.expirationTimestamp)
    const shown = await tokens.shown(token, 'Terminating')
    expect(conditionIn(shown, 'Ready')).toMatchObject({
      status: 'False',
      message: 'The token is being deleted and is revoked.',
    })
    expect(shown.status).not.toHaveProperty('token')
    await free(token)
    await tokens.gone(token)
  })

  test('before anybody saw it, or before it was issued, leaves no record (5.1, 7.4)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const waiting = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    await tokens.remove(waiting)
    await tokens.gone(waiting)
    expect(await platform.revoked()).not.toHaveProperty(waiting.metadata.uid)
  })

  test('and is held by others is not issued, and not adopted again (5.1)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const created = await tokens.create({}, { ...under(owner), ...HELD })
    await tokens.shown(created, 'OwnerNotReady')
    await tokens.remove(created)
    await tokens.shown(created, 'Terminating')
    await keys.patch(owner, { spec: { disabled: false } })
    await tokens.issue({}, under(owner))
    await released(created)
    const { metadata, status } = await tokens.shown(created, 'Terminating')
    expect(metadata.finalizers).toEqual([FOREIGN])
    expect(status).not.toHaveProperty('token')
    await free(created)
    await tokens.gone(created)
  })

  test('under a name that is used again is another one (7.1)', async () => {
    const first = await tokens.issue()
    const { name } = first.metadata
    await tokens.remove(first)
    await tokens.gone(first)
    const second = await tokens.issue({}, { name })
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
    const records = await platform.revoked()
    expect(records).toHaveProperty(first.metadata.uid)
    expect(records).not.toHaveProperty(second.metadata.uid)
  })
})

describe.concurrent('the finalizer', () => {
  test('comes back when somebody takes it off a token that lives (5.1)', async () => {
    const token = await tokens.issue()
    await tokens.patch(token, { metadata: { finalizers: null } })
    const held = await tokens.until(token, 'is held again', ({ metadata }) => isOurs(metadata))
    expect(held.status).toEqual(token.status)
  })

  test('comes back beside that of somebody else (5.1)', async () => {
    const token = await tokens.issue()
    await tokens.patch(token, [{ op: 'replace', path: '/metadata/finalizers', value: [FOREIGN] }])
    const held = await tokens.until(token, 'is held again', ({ metadata }) => isOurs(metadata))
    expect(held.metadata.finalizers).toEqual([FOREIGN, REVOKE_FINALIZER])
    await free(token)
  })
})

describe.concurrent('the tokens of an access key that is deleted', () => {
  // In the time of a hook: what is left of a test's would be little.
  beforeAll(() => collector)

  test.each<Propagation>(['Background', 'Foreground', 'Orphan'])(
    'are recorded and gone, and then it is: %s (5.1, 5.4, 7.4)',
    async (propagation) => {
      const { owner, token } = await pair()
      await removeKey(owner, propagation)
      await keys.gone(owner)
      await tokens.gone(token)
      expect((await platform.revoked())[token.metadata.uid]).toBe(token.status.expirationTimestamp)
    },
  )

  test.each<Propagation>(['Background', 'Foreground', 'Orphan'])(
    'are recorded before its finalizer goes, and before theirs do: %s (5.1, 7.4)',
    async (propagation) => {
      const { owner, token } = await pair(HELD, HELD)
      await removeKey(owner, propagation)
      const freed = await released(token)
      expect(await platform.revokedAt(freed.metadata.resourceVersion)).toHaveProperty(
        token.metadata.uid,
      )
      const last = await keys.until(owner, 'is released', ({ metadata }) => !isOurs(metadata))
      expect(await platform.revokedAt(last.metadata.resourceVersion)).toHaveProperty(
        token.metadata.uid,
      )
      const shown = await tokens.shown(token, 'Terminating')
      expect(shown.status).not.toHaveProperty('token')
      await free(token)
      await tokens.gone(token)
      await keys.patch(owner, { metadata: { finalizers: [] } })
      await keys.gone(owner)
    },
  )

  test('that no longer name it are so too (5.1, 5.4)', async () => {
    const { owner, token } = await pair()
    await tokens.patch(token, { metadata: { ownerReferences: null } })
    const elsewhere = await tokens.issue({}, under(owner))
    const other = await keys.shown(await keys.create(), 'Active')
    await tokens.patch(elsewhere, { metadata: { ownerReferences: [controllerOf(other)] } })
    await Promise.all([token, elsewhere].map((one) => tokens.shown(one, 'Revoked')))
    await removeKey(owner, 'Orphan')
    await keys.gone(owner)
    await Promise.all([token, elsewhere].map((one) => tokens.gone(one)))
    const records = await platform.revoked()
    for (const one of [token, elsewhere]) expect(records).toHaveProperty(one.metadata.uid)
    await keys.shown(other, 'Active')
  })

  test('that were never issued are collected, and leave no record (5.4, 7.4)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const waiting = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    await removeKey(owner, 'Background')
    await tokens.gone(waiting)
    expect(await platform.revoked()).not.toHaveProperty(waiting.metadata.uid)
  })

  test('are not those of one that is made under the same name (5.4)', async () => {
    const { owner, token } = await pair({}, HELD)
    const { name } = owner.metadata
    await removeKey(owner, 'Background')
    await keys.gone(owner)
    const again = await keys.shown(await keys.create({}, { name }), 'Active')
    const fresh = await tokens.issue({}, under(again))
    expect(fresh.status.owner).toEqual({ name, uid: again.metadata.uid })
    const { status } = await tokens.shown(token, 'Terminating')
    expect(status.owner).toEqual({ name, uid: owner.metadata.uid })
    expect(status).not.toHaveProperty('token')
    expect(await platform.revoked()).toHaveProperty(token.metadata.uid)
    await free(token)
    await tokens.gone(token)
    // A reference to the one that is gone, made now, points to no object.
    const stale = await tokens.create({}, under(owner))
    await tokens.gone(stale)
    expect(await platform.revoked()).not.toHaveProperty(stale.metadata.uid)
    await keys.shown(again, 'Active')
  })
})
