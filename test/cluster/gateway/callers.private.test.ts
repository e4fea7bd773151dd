// Who is calling, on a real API server: two gateways' knowledge of the keys, as what they are changes.
import { describe, expect, test } from 'vitest'
import { HEARTBEAT_KEY } from '../../../src/api/names.ts'
import { auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { GATEWAY_USER, OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { inWhole } from '../../support/tier.ts'
import { type StoredKey, condition, outlived } from '../keys/key-client.ts'
import { heartbeatOf, startTwoGateways } from './two-gateways.ts'

const plane = await privateControlPlane()
const settings = settingsOf(plane)
const audit = auditOf(plane)

const { keys, stands, given, check } = startTwoGateways(plane)

/** Metadata of what was first seen long ago, and is kept whatever its end (contract 2.8, 5.2). */
const LONG_AGO = {
  annotations: {
    'management.platform.sh/created': '2026-01-01T00:00:00Z',
    'management.platform.sh/expired': 'Keep',
  },
}

describe('what a key opens follows what it is, at every replica within a second (10.3, C5)', () => {
  test('a new key works', async () => {
    const { secret } = await given()
    await check(secret, 'ada')
  })

  test.each<{
    readonly name: string
    readonly act: (key: StoredKey) => Promise<unknown>
    readonly is: string
  }>([
    {
      name: 'disabled',
      act: (key) => keys.patch(key, { spec: { disabled: true } }),
      is: 'disabled',
    },
    {
      name: 'deleted',
      // The operator lets it go in its own time: until then it is as the next one.
      act: async (key) => {
        await keys.remove(key)
        await keys.gone(key)
      },
      is: 'unknown',
    },
    {
      name: 'deleted, held by somebody (C6)',
      act: async (key) => {
        await keys.patch(key, { metadata: { finalizers: ['example.com/hold'] } })
        await keys.remove(key)
      },
      is: 'deleted',
    },
    {
      name: 'of another user',
      act: (key) => keys.patch(key, { spec: { user: 'bob' } }),
      is: 'bob',
    },
    { name: 'of nobody', act: (key) => keys.patch(key, { spec: { user: '' } }), is: 'noIdentity' },
    {
      name: 'over its lifetime',
      act: (key) => keys.patch(key, { metadata: LONG_AGO, spec: { ttl: 60 } }),
      is: 'expired',
    },
  ])('a key that is $name', async ({ act, is }) => {
    const { key, secret } = await given()
    await check(secret, 'ada')
    await act(key)
    await check(secret, is)
    expect(stands().map(({ news }) => news.includes(key.metadata.uid))).toEqual([true, true])
  })

  test('of two with the same secret the younger never works (3.3)', async () => {
    const elder = await given()
    await outlived(elder.key)
    const younger = await keys.create({ key: elder.secret, user: 'bob' })
    await check(elder.secret, 'ada')
    await keys.patch(elder.key, { spec: { disabled: true } })
    await check(elder.secret, 'disabled')
    await keys.remove(elder.key)
    await keys.gone(elder.key)
    await check(elder.secret, 'bob')
    await keys.remove(younger)
    await keys.gone(younger)
    await check(elder.secret, 'unknown')
  })

  test('a key ends with the one that owns it (12.3)', async () => {
    const owner = await given()
    const { name, uid } = owner.key.metadata
    const reference = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', name, uid }
    const child = await given({}, { ownerReferences: [{ ...reference, controller: true }] })
    await check(child.secret, 'ada')
    await keys.patch(owner.key, { spec: { disabled: true } })
    await check(child.secret, 'owner')
    expect(stands()[0].news).toContain(child.key.metadata.uid)
  })

  test('the cap binds at once (2.5, 6.6)', async () => {
    const { secret } = await given({}, LONG_AGO)
    await check(secret, 'ada')
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 3600 } })
    await check(secret, 'expired', { promisedMs: 2000 })
    await settings.declare({})
    await check(secret, 'ada', { promisedMs: 2000 })
  })

  test('what a role grants is read anew every 5 seconds (11.4)', async () => {
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/platform:scope:workspace'
    const before = stands()[0].callers.roleRules('workspace')
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]
    expect((await plane.raw('PATCH', path, { rules })).code).toBe(200)
    for (const { callers } of stands())
      await eventuallyPasses(
        'it is known',
        () => expect(callers.roleRules('workspace')).toEqual(rules),
        { withinMs: 15_000 },
      )
    expect(before).not.toEqual(rules)
  })
})

describe('the heartbeat key (10.4)', () => {
  test.each(inWhole('one of two replicas writes to it about every 5 seconds, and both hear of it'))(
    '%s',
    async () => {
      const beginMs = performance.now()
      const mark = await audit.mark()
      await staysTrue(
        'both are fresh',
        () => {
          for (const { callers } of stands()) expect(callers.ageMs()).toBeLessThan(15_000)
        },
        { forMs: 21_000 },
      )
      const writes = await audit.writesSince(mark, { user: GATEWAY_USER })
      const most = Math.floor((performance.now() - beginMs) / 5000) + 1
      expect(new Set(writes.map(({ verb, name }) => `${verb} ${name}`))).toEqual(
        new Set([`patch ${HEARTBEAT_KEY}`]),
      )
      expect(writes.filter(({ code }) => code === 200).length).toBeGreaterThanOrEqual(2)
      expect(writes.filter(({ code }) => code === 200).length).toBeLessThanOrEqual(most)
      const returned = stands().flatMap((stand) => stand.returned)
      expect(returned.length).toBeGreaterThan(0)
      expect(Math.max(...returned)).toBeLessThan(15_000)
    },
  )

  test('the operator tells its state, gives it no key and holds it for nothing, and has nothing to do when it beats', async () => {
    const told = await keys.shown(HEARTBEAT_KEY, 'Active')
    expect(told.spec.key).toBeUndefined()
    expect(told.metadata.finalizers ?? []).toEqual([])
    expect(told.spec).toMatchObject({ subject: 'heartbeat', type: 'Reset' })
    // So a wait for all keys is no trap.
    expect(condition(told, 'Ready').status).toBe('True')
    expect(told.status.expirationTimestamp).toBeUndefined()
    const mark = await audit.mark()
    await keys.until(HEARTBEAT_KEY, 'beats', (now) => heartbeatOf(now) !== heartbeatOf(told))
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    expect(writes.filter(({ name }) => name === HEARTBEAT_KEY)).toEqual([])
  })

  test.each(
    inWhole(
      'of another form, as an earlier version makes it: it is replaced, and nobody notices (10.4)',
    ),
  )('%s', async () => {
    const { metadata } = await keys.shown(HEARTBEAT_KEY, 'Active')
    await keys.patch(HEARTBEAT_KEY, { spec: { disabled: true } })
    const isReplaced = (key: StoredKey) => key.metadata.uid !== metadata.uid
    const replaced = await keys.until(HEARTBEAT_KEY, 'is replaced', isReplaced)
    expect(replaced.spec.disabled).toBeUndefined()
    await keys.shown(HEARTBEAT_KEY, 'Active')
    for (const { callers } of stands()) expect(callers.ageMs()).toBeLessThan(15_000)
    const mark = await audit.mark()
    const beat = heartbeatOf((await keys.read(HEARTBEAT_KEY)) ?? replaced)
    await keys.until(HEARTBEAT_KEY, 'beats', (now) => heartbeatOf(now) !== beat)
    const writes = await audit.writesSince(mark, { user: GATEWAY_USER })
    expect(writes.filter(({ verb }) => verb !== 'patch')).toEqual([])
  })

  test('somebody deletes it: it comes again', async () => {
    const { metadata } = await keys.shown(HEARTBEAT_KEY, 'Active')
    await keys.remove(HEARTBEAT_KEY)
    await keys.until(HEARTBEAT_KEY, 'is another', (key) => key.metadata.uid !== metadata.uid)
    for (const { callers } of stands()) expect(callers.ageMs()).toBeLessThan(15_000)
  })
})
