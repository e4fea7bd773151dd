// Two authenticators on a real API server follow every change of the keys.
import { beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, HEARTBEAT_NAME } from '../../../src/api/names.ts'
import { auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { GATEWAY_USER, OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { inWhole } from '../../support/tier.ts'
import { type StoredKey, condition, outlived } from '../keys/key-client.ts'
import { heartbeatOf, startTwoAuthenticators } from './in-process-gateway.ts'

const plane = await privateControlPlane()
const settings = settingsOf(plane)
const audit = auditOf(plane)

const { keys, authenticators, createKey, expectOutcome } = startTwoAuthenticators(plane)

/** Metadata of a key that was created long ago and is kept after its end (contract 2.8, 5.2). */
const LONG_AGO = {
  annotations: {
    'management.platform.sh/created': '2026-01-01T00:00:00Z',
    'management.platform.sh/expired': 'Keep',
  },
}

describe('a change of a key takes effect at every replica within a second (10.3, C5)', () => {
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]
  let before: unknown
  let changed = 0
  // Changed first, as it takes 5 seconds: no key of these tests has the role.
  beforeAll(async () => {
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/platform:scope:workspace'
    before = authenticators()[0].authenticator.roleRules('workspace')
    changed = (await plane.raw('PATCH', path, { rules })).code
  })

  test('a new key is accepted', async () => {
    const { secret } = await createKey()
    await expectOutcome(secret, 'ada')
  })

  test.each<{
    readonly name: string
    readonly change: (key: StoredKey) => Promise<unknown>
    readonly outcome: string
  }>([
    {
      name: 'disabled: refused',
      change: (key) => keys.patch(key, { spec: { disabled: true } }),
      outcome: 'disabled',
    },
    {
      name: 'deleted: refused as unknown',
      // The operator removes its finalizer some time later: until then it is like the next one.
      change: async (key) => {
        await keys.remove(key)
        await keys.gone(key)
      },
      outcome: 'unknown',
    },
    {
      name: 'deleted, but kept by a finalizer: refused as deleted (C6)',
      change: async (key) => {
        await keys.patch(key, { metadata: { finalizers: ['example.com/hold'] } })
        await keys.remove(key)
      },
      outcome: 'deleted',
    },
    {
      name: 'given another user: accepted as that user',
      change: (key) => keys.patch(key, { spec: { user: 'bob' } }),
      outcome: 'bob',
    },
    {
      name: 'left without a user: refused',
      change: (key) => keys.patch(key, { spec: { user: '' } }),
      outcome: 'noIdentity',
    },
    {
      name: 'older than its ttl: refused as expired',
      change: (key) => keys.patch(key, { metadata: LONG_AGO, spec: { ttl: 60 } }),
      outcome: 'expired',
    },
  ])('a key that is $name', async ({ change, outcome }) => {
    const { key, secret } = await createKey()
    await expectOutcome(secret, 'ada')
    await change(key)
    await expectOutcome(secret, outcome)
    expect(
      authenticators().map(({ changedUids }) => changedUids.includes(key.metadata.uid)),
    ).toEqual([true, true])
  })

  test('of two keys with the same secret only the older is accepted, while it exists (3.3)', async () => {
    const elder = await createKey()
    await outlived(elder.key)
    const younger = await keys.create({ key: elder.secret, user: 'bob' })
    await expectOutcome(elder.secret, 'ada')
    await keys.patch(elder.key, { spec: { disabled: true } })
    await expectOutcome(elder.secret, 'disabled')
    await keys.remove(elder.key)
    await keys.gone(elder.key)
    await expectOutcome(elder.secret, 'bob')
    await keys.remove(younger)
    await keys.gone(younger)
    await expectOutcome(elder.secret, 'unknown')
  })

  test('a key ends with its owner key (12.3)', async () => {
    const owner = await createKey()
    const { name, uid } = owner.key.metadata
    const reference = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', name, uid }
    const child = await createKey({}, { ownerReferences: [{ ...reference, controller: true }] })
    await expectOutcome(child.secret, 'ada')
    await keys.patch(owner.key, { spec: { disabled: true } })
    await expectOutcome(child.secret, 'owner')
    expect(authenticators()[0].changedUids).toContain(child.key.metadata.uid)
  })

  test('a new cap on lifetimes takes effect within 2 s (2.5, 6.6)', async () => {
    const { secret } = await createKey({}, LONG_AGO)
    await expectOutcome(secret, 'ada')
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 3600 } })
    await expectOutcome(secret, 'expired', { promisedMs: 2000 })
    await settings.declare({})
    await expectOutcome(secret, 'ada', { promisedMs: 2000 })
  })

  test('the rules of a role are read again every 5 seconds (11.4)', async () => {
    expect(changed).toBe(200)
    for (const { authenticator } of authenticators())
      await eventuallyPasses(
        'the changed rules are known',
        () => expect(authenticator.roleRules('workspace')).toEqual(rules),
        { withinMs: 15_000 },
      )
    expect(before).not.toEqual(rules)
  })
})

describe('the heartbeat key (10.4)', () => {
  test.each(
    inWhole('one of two replicas writes to it about every 5 seconds, and both receive the write'),
  )('%s', async () => {
    const beginMs = performance.now()
    const mark = await audit.mark()
    await staysTrue(
      'both watches are fresh',
      () => {
        for (const { authenticator } of authenticators())
          expect(authenticator.ageMs()).toBeLessThan(15_000)
      },
      { forMs: 21_000 },
    )
    const writes = await audit.writesSince(mark, { user: GATEWAY_USER })
    const most = Math.floor((performance.now() - beginMs) / 5000) + 1
    expect(new Set(writes.map(({ verb, name }) => `${verb} ${name}`))).toEqual(
      new Set([`patch ${HEARTBEAT_NAME}`]),
    )
    // Users and Teams have heartbeats of their own.
    const stored = writes.filter(
      ({ code, resource }) => code === 200 && resource === ACCESS_KEYS.plural,
    )
    expect(stored.length).toBeGreaterThanOrEqual(2)
    expect(stored.length).toBeLessThanOrEqual(most)
    const returned = authenticators().flatMap((one) => one.heartbeatDelaysMs)
    expect(returned.length).toBeGreaterThan(0)
    expect(Math.max(...returned)).toBeLessThan(15_000)
  })

  test('the operator sets its status, but no secret and no finalizer, and writes nothing after a heartbeat', async () => {
    const reported = await keys.shown(HEARTBEAT_NAME, 'Active')
    expect(reported.spec.key).toBeUndefined()
    expect(reported.metadata.finalizers ?? []).toEqual([])
    expect(reported.spec).toMatchObject({ subject: 'heartbeat', type: 'Reset' })
    // So `kubectl wait` for all keys ends.
    expect(condition(reported, 'Ready').status).toBe('True')
    expect(reported.status.expirationTimestamp).toBeUndefined()
    const mark = await audit.mark()
    await keys.until(
      HEARTBEAT_NAME,
      'gets a heartbeat',
      (now) => heartbeatOf(now) !== heartbeatOf(reported),
    )
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    expect(writes.filter(({ name }) => name === HEARTBEAT_NAME)).toEqual([])
  })

  test.each(
    inWhole(
      'a heartbeat key in the format of an earlier version is replaced, and the watches stay fresh (10.4)',
    ),
  )('%s', async () => {
    const { metadata } = await keys.shown(HEARTBEAT_NAME, 'Active')
    await keys.patch(HEARTBEAT_NAME, { spec: { disabled: true } })
    const isReplaced = (key: StoredKey) => key.metadata.uid !== metadata.uid
    const replaced = await keys.until(HEARTBEAT_NAME, 'is replaced', isReplaced)
    expect(replaced.spec.disabled).toBeUndefined()
    await keys.shown(HEARTBEAT_NAME, 'Active')
    for (const { authenticator } of authenticators())
      expect(authenticator.ageMs()).toBeLessThan(15_000)
    const mark = await audit.mark()
    const lastHeartbeat = heartbeatOf((await keys.read(HEARTBEAT_NAME)) ?? replaced)
    await keys.until(
      HEARTBEAT_NAME,
      'gets a heartbeat',
      (now) => heartbeatOf(now) !== lastHeartbeat,
    )
    const writes = await audit.writesSince(mark, { user: GATEWAY_USER })
    expect(writes.filter(({ verb }) => verb !== 'patch')).toEqual([])
  })

  test('is created again after its deletion', async () => {
    const { metadata } = await keys.shown(HEARTBEAT_NAME, 'Active')
    await keys.remove(HEARTBEAT_NAME)
    await keys.until(
      HEARTBEAT_NAME,
      'is another object',
      (key) => key.metadata.uid !== metadata.uid,
    )
    for (const { authenticator } of authenticators())
      expect(authenticator.ageMs()).toBeLessThan(15_000)
  })
})
