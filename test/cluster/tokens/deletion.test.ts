// Deleted tokens, and tokens of deleted keys: the revocation record is stored before the finalizer is removed (contract
// 5.1, 7.4). A foreign finalizer keeps an object so that tests see its state at that moment.
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

/** Awaited by tests that need the garbage collector. */
const collector = collectorReady(tokens)

const HELD = { finalizers: [FOREIGN] }
const OTHER = 'example.com/inventory'

/** An Active key and an issued token that it owns. */
async function pair(ofOwner: Partial<ObjectMeta> = {}, ofToken: Partial<ObjectMeta> = {}) {
  const owner = await keys.shown(await keys.create({}, ofOwner), 'Active')
  const token = await tokens.issue(
    {},
    { ...under(owner, { blockOwnerDeletion: true }), ...ofToken },
  )
  return { owner, token }
}

/** Waits until the operator has removed its finalizer. */
const released = (token: StoredToken): Promise<StoredToken> =>
  tokens.until(token, 'is released', ({ metadata }) => !isOurs(metadata))

const isOurs = ({ finalizers = [] }: ObjectMeta): boolean => finalizers.includes(REVOKE_FINALIZER)

const free = (token: StoredToken): Promise<StoredToken> =>
  tokens.patch(token, { metadata: { finalizers: [] } })

/** Deletes a key like kubectl --cascade. */
async function removeKey(key: StoredKey, propagationPolicy: Propagation): Promise<void> {
  const path = `/apis/management.platform.sh/v1/ownedaccesskeys/${key.metadata.name}`
  const { code } = await plane.raw('DELETE', path, { propagationPolicy })
  expect(code).toBe(200)
}

describe.concurrent('a deleted token', () => {
  test('is recorded and removed when kubectl delete returns (5.1, 7.4)', async () => {
    const token = await tokens.issue()
    const { code, stderr } = await plane.kubectl(['delete', 'dcet', token.metadata.name])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await tokens.read(token)).toBeNull()
    expect((await platform.revoked())[token.metadata.uid]).toBe(token.status.expirationTimestamp)
  })

  test('is recorded and removed by deletecollection too (5.1, 7.4)', async () => {
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
    { name: 'after ours', finalizers: [REVOKE_FINALIZER, FOREIGN], left: [FOREIGN] },
    { name: 'before ours', finalizers: [FOREIGN, REVOKE_FINALIZER], left: [FOREIGN] },
    { name: 'on both sides', finalizers: [FOREIGN, REVOKE_FINALIZER, OTHER], left: [FOREIGN, OTHER] },
  ])('stays while it has a foreign finalizer $name, without status.token (4.2, 5.1, 7.4)', async ({ finalizers, left }) => {
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

  test('leaves no record when it was not adopted or not issued (5.1, 7.4)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const waiting = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    await tokens.remove(waiting)
    await tokens.gone(waiting)
    expect(await platform.revoked()).not.toHaveProperty(waiting.metadata.uid)
  })

  test('with a foreign finalizer is neither issued nor adopted again (5.1)', async () => {
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

  test('stays revoked when another token is created under its name (7.1)', async () => {
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
  test('is restored when a user removes it from a live token (5.1)', async () => {
    const token = await tokens.issue()
    await tokens.patch(token, { metadata: { finalizers: null } })
    const held = await tokens.until(token, 'has its finalizer again', ({ metadata }) =>
      isOurs(metadata),
    )
    expect(held.status).toEqual(token.status)
  })

  test('is restored beside a foreign one (5.1)', async () => {
    const token = await tokens.issue()
    await tokens.patch(token, [{ op: 'replace', path: '/metadata/finalizers', value: [FOREIGN] }])
    const held = await tokens.until(token, 'has its finalizer again', ({ metadata }) =>
      isOurs(metadata),
    )
    expect(held.metadata.finalizers).toEqual([FOREIGN, REVOKE_FINALIZER])
    await free(token)
  })
})

describe.concurrent('the tokens of a deleted access key', () => {
  // In a hook, so that the wait does not count as time of a test.
  beforeAll(() => collector)

  test.each<Propagation>(['Background', 'Foreground', 'Orphan'])(
    'are recorded and removed before it is: %s (5.1, 5.4, 7.4)',
    async (propagation) => {
      const { owner, token } = await pair()
      await removeKey(owner, propagation)
      await keys.gone(owner)
      await tokens.gone(token)
      expect((await platform.revoked())[token.metadata.uid]).toBe(token.status.expirationTimestamp)
    },
  )

  test.each<Propagation>(['Background', 'Foreground', 'Orphan'])(
    'are recorded before its finalizer and theirs are removed: %s (5.1, 7.4)',
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

  test('that no longer name it as owner are recorded too (5.1, 5.4)', async () => {
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

  test('that were never issued are garbage collected without a record (5.4, 7.4)', async () => {
    const owner = await keys.shown(await keys.create({ disabled: true }), 'Disabled')
    const waiting = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    await removeKey(owner, 'Background')
    await tokens.gone(waiting)
    expect(await platform.revoked()).not.toHaveProperty(waiting.metadata.uid)
  })

  test('do not belong to another key created under its name (5.4)', async () => {
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
    // A new reference to the deleted key points to no object.
    const stale = await tokens.create({}, under(owner))
    await tokens.gone(stale)
    expect(await platform.revoked()).not.toHaveProperty(stale.metadata.uid)
    await keys.shown(again, 'Active')
  })
})
