// The writes of the operator for a key, by the audit log: the necessary ones and no others.
import { describe, expect, test } from 'vitest'
import { EVENTS } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { auditOf } from '../../support/audit-log.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  EVENT_WITHIN,
  SOON,
  type StoredKey,
  createdMs,
  hasConditions,
  keyClientOf,
  writesTo,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)

const ADOPTION = 'patch'
const STATUS = 'patch status'
const DELETION = 'delete'
const FINALIZER_REMOVAL = 'patch'

/** An Active key, and the mark in the audit log after its status write. */
async function settled(...created: Parameters<typeof keys.create>) {
  const key = await keys.shown(await keys.create(...created), 'Active')
  return { key, mark: await audit.mark() }
}

/** The same for a key with a ttl of seconds, before its expiry; retried, as a busy machine may be too late. */
const settledFor = (ttl: number, spec: OwnedAccessKeySpec = {}) =>
  eventually(
    'a key has a status before it expires',
    async () => {
      const key = await keys.until(
        await keys.create({ ...spec, ttl }),
        'is reported',
        hasConditions,
      )
      const mark = await audit.mark()
      return Date.now() < createdMs(key) + ttl * 1000 ? { key, mark } : undefined
    },
    EVENT_WITHIN,
  )

describe.concurrent('the operator writes', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'without a key', spec: {} },
    { name: 'with a key', spec: { key: uniqueName('k'.repeat(32)) } },
  ])('twice for a new key $name (3.1)', async ({ spec }) => {
    const mark = await audit.mark()
    const key = await keys.shown(await keys.create(spec), 'Active')
    await touch(key)
    expect(await writesTo(key, audit, mark)).toEqual([ADOPTION, STATUS, STATUS])
  })

  test('once when a key expires (2.7)', async () => {
    const { key, mark } = await settledFor(3)
    await keys.shown(key, 'Expired')
    await touch(key)
    expect(await writesTo(key, audit, mark)).toEqual([STATUS, STATUS])
  })

  test('no expiry before its time, however often it reconciles (2.6)', async () => {
    const { key, mark } = await settledFor(3)
    const look = async () => {
      const { status } = await keys.patch(key, { metadata: { labels: { look: uniqueName('at') } } })
      return findCondition(status.conditions ?? [], 'Ready')?.reason === 'Expired' || undefined
    }
    await eventually('the key expires', look, SOON)
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
    const reported = writes.filter(({ name, code }) => name === key.metadata.name && code === 200)
    expect(reported).toHaveLength(1)
    expect(Date.parse(reported[0]?.at ?? '')).toBeGreaterThanOrEqual(
      Date.parse(key.status.expirationTimestamp ?? ''),
    )
  })

  test('three times when a Login key expires and is deleted (5.2)', async () => {
    const { key, mark } = await settledFor(3, { type: 'Login' })
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual([STATUS, DELETION, FINALIZER_REMOVAL])
  })

  test('once when a user deletes a key (5.1)', async () => {
    const { key, mark } = await settled()
    await keys.remove(key)
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual([FINALIZER_REMOVAL])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a label', spec: {}, change: { metadata: { labels: { team: 'a' } } } },
    { name: 'a foreign finalizer', spec: {}, change: { metadata: { finalizers: ['management.platform.sh/revoke', 'example.com/x'] } } },
    { name: 'a foreign annotation', spec: { ttl: 3600 }, change: { metadata: { annotations: { note: 'x' } } } },
  ])('nothing for $name (4.4)', async ({ spec, change }) => {
    const { key, mark } = await settled(spec)
    await keys.patch(key, change)
    await touch(key)
    expect(await writesTo(key, audit, mark)).toEqual([STATUS])
  })

  test('nothing for a use of a key that does not slide (2.3, 3.4)', async () => {
    const { key, mark } = await settled({ ttl: 3600 })
    await keys.use(key, Date.now())
    await touch(key)
    expect(await writesTo(key, audit, mark)).toEqual([STATUS])
  })

  test('once for a use of a key that slides (2.3)', async () => {
    const { key, mark } = await settled({ ttl: 3600, ttlAfterLastActivity: true })
    // In a later second than its creation: the end in status has whole seconds.
    await keys.use(key, Date.now() + 1000)
    const end = key.status.expirationTimestamp
    await keys.until(key, 'follows', ({ status }) => status.expirationTimestamp !== end)
    await touch(key)
    expect(await writesTo(key, audit, mark)).toEqual([STATUS, STATUS])
  })

  test('each event once (4.5)', async () => {
    const mark = await audit.mark()
    const key = await keys.create({ ttl: 2 })
    await keys.shown(key, 'Expired')
    const reported = await eventually('two events', () => twoEventsOf(key), EVENT_WITHIN)
    expect(reported.map(({ reason, type }) => ({ reason, type }))).toEqual([
      { reason: 'Expired', type: 'Warning' },
      { reason: 'KeyGenerated', type: 'Normal' },
    ])
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
    const ofKey = writes.filter(({ resource, name }) => {
      return resource === EVENTS.plural && name.startsWith(key.metadata.name)
    })
    expect(ofKey.map(({ verb, code }) => ({ verb, code }))).toEqual([
      { verb: 'create', code: 201 },
      { verb: 'create', code: 201 },
    ])
  })
})

/** Changes spec and waits for the status: all earlier writes are done by then. */
async function touch(key: StoredKey): Promise<void> {
  const { metadata } = await keys.patch(key, { spec: { displayName: uniqueName('looked') } })
  await keys.until(
    key,
    'is seen',
    ({ status }) => status.observedGeneration === metadata.generation,
  )
}

async function twoEventsOf(key: StoredKey) {
  const events = await keys.events(key)
  return events.length < 2 ? undefined : events.toSorted((a, b) => (a.reason < b.reason ? -1 : 1))
}
