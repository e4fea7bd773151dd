// The conditions of a key (contract 4.1, 4.4), and fields of its status that other clients own.
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { controllerOf } from '../tokens/token-client.ts'
import {
  SOON,
  type StoredKey,
  condition,
  createdMs,
  keyClientOf,
  createdAgo,
  textAfter,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

/** Every condition as `type=status reason`. */
const conditionsOf = ({ status }: StoredKey): readonly string[] =>
  (status.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is} ${reason}`)

describe.concurrent('conditions', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'without an identity', spec: { user: '' }, reason: 'NoIdentity', said: ['Ready=False NoIdentity', 'Stalled=True NoIdentity'],
      message: 'The key names no user, team or subject and does not work: set one of spec.user, spec.team and spec.subject.' },
    { name: 'disabled', spec: { disabled: true }, reason: 'Disabled', said: ['Ready=False Disabled', 'Stalled=True Disabled'],
      message: 'The key is disabled and does not work: remove spec.disabled to enable it.' },
    { name: 'not disabled', spec: { disabled: false }, reason: 'Active', said: ['Ready=True Active'], message: 'The key works and never expires.' },
    { name: 'without an identity and disabled', spec: { user: '', disabled: true }, reason: 'NoIdentity', said: ['Ready=False NoIdentity', 'Stalled=True NoIdentity'],
      message: expect.any(String) },
    { name: 'expired and without an identity', spec: { user: '', ttl: 60 }, ago: 60, reason: 'NoIdentity', said: ['Ready=False NoIdentity', 'Stalled=True NoIdentity'],
      message: expect.any(String) },
    { name: 'expired and disabled', spec: { disabled: true, ttl: 60 }, ago: 60, reason: 'Expired', said: ['Ready=False Expired', 'Stalled=True Expired'],
      message: expect.stringMatching(/^The key expired/) },
  ])('of a key that is $name (4.1)', async ({ spec, ago, reason, said, message }) => {
    const metadata = ago === undefined ? {} : createdAgo(ago)
    const key = await keys.shown(await keys.create(spec, metadata), reason)
    expect(conditionsOf(key)).toEqual(said)
    for (const { type } of key.status.conditions ?? [])
      expect(condition(key, type)).toMatchObject({
        message,
        observedGeneration: key.metadata.generation,
      })
  })

  test('of a key report the state of the key that owns it (4.1, 10.3, 12.3)', async () => {
    const login = await keys.shown(await keys.create({ type: 'Login' }), 'Active')
    const { name } = login.metadata
    const made = await keys.create({}, { ownerReferences: [controllerOf(login)] })
    const deeper = await keys.create({}, { ownerReferences: [controllerOf(made)] })
    const says = async (key: StoredKey, because: string) => {
      const { status } = await keys.shown(key, 'OwnerNotReady')
      expect(condition({ ...key, status }, 'Ready').message).toBe(
        `The key does not work, because access key ${name}, which it depends on, ${because}.`,
      )
    }
    for (const key of [made, deeper]) await keys.shown(key, 'Active')
    await keys.patch(login, { spec: { disabled: true } })
    for (const key of [made, deeper]) await says(key, 'is disabled')
    await keys.patch(login, { spec: { disabled: false } })
    for (const key of [made, deeper]) await keys.shown(key, 'Active')
    await keys.patch(made, { spec: { scope: { clusters: [{ cluster: 'a' }] } } })
    await keys.patch(login, { spec: { scope: { clusters: [{ cluster: 'b' }] } } })
    await says(made, 'has a narrower scope or fewer groups than a key that it owns')
  })

  test('follow the state of a key, each with the time of its last transition (4.1, 4.4)', async () => {
    const created = await keys.shown(await keys.create({ user: '' }), 'NoIdentity')
    const firstMs = Date.parse(condition(created, 'Ready').lastTransitionTime)
    const nextSecond = () => Date.now() >= firstMs + 1000 || undefined
    await eventually('the next second begins', nextSecond, SOON)
    await keys.patch(created, { spec: { user: 'ada', disabled: true } })
    const disabled = await keys.shown(created, 'Disabled')
    expect(conditionsOf(disabled)).toEqual(['Ready=False Disabled', 'Stalled=True Disabled'])
    expect(condition(disabled, 'Ready').lastTransitionTime).toBe(textAfter(firstMs, 0))
    await keys.patch(created, { spec: { disabled: null } })
    const active = await keys.shown(created, 'Active')
    const activeMs = Date.parse(condition(active, 'Ready').lastTransitionTime)
    expect(activeMs).toBeGreaterThan(firstMs)
    expect(active.status.identity).toBe('user:ada')
    expect(active.status.observedGeneration).toBeGreaterThan(disabled.metadata.generation ?? 0)
    expect(condition(active, 'Ready').observedGeneration).toBe(active.metadata.generation)
  })
})

describe.concurrent('the operator', () => {
  test('keeps lastActivity, which gateways write (3.4)', async () => {
    const created = await keys.shown(await keys.create({ ttl: 3600 }), 'Active')
    const used = await keys.use(created, Date.now())
    await keys.patch(created, { spec: { disabled: true } })
    const key = await keys.shown(created, 'Disabled')
    expect(key.status.lastActivity).toBe(used.status.lastActivity)
    const owners = key.metadata.managedFields?.filter(({ fieldsV1 }) =>
      JSON.stringify(fieldsV1).includes('"f:lastActivity"'),
    )
    expect(owners?.map(({ manager }) => manager)).not.toContain('management-operator')
  })

  test('keeps conditions of other types (4.4)', async () => {
    const created = await keys.shown(await keys.create(), 'Active')
    const foreign = {
      type: 'Rotated',
      status: 'True',
      reason: 'ByRobot',
      message: 'a robot was here',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    await keys.apply(created, 'robot', { status: { conditions: [foreign] } }, 'status')
    await keys.patch(created, { spec: { disabled: true } })
    const key = await keys.shown(created, 'Disabled')
    expect(condition(key, 'Rotated')).toEqual(foreign)
  })

  test('reverts changes of its own status fields (1.5)', async () => {
    const created = await keys.shown(await keys.create({ ttl: 3600 }), 'Active')
    const expirationTimestamp = textAfter(createdMs(created), 7200)
    const status = { keyID: 'f'.repeat(16), identity: 'user:eve', expirationTimestamp }
    await keys.apply(created, 'eve', { status }, 'status')
    const isReverted = (key: StoredKey) => key.status.identity === 'user:ada'
    const key = await keys.until(created, 'is reverted', isReverted)
    expect(key.status).toEqual(created.status)
  })
})
