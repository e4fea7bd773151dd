// What happened while no operator ran is caught up when one starts (contract 2.6, 2.7).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  condition,
  fieldsOfOperator,
  keyClientOf,
  createdAgo,
  textAfter,
  writesTo,
} from './key-client.ts'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)
const kubeconfig = await plane.operatorKubeconfig()

const HOUR = 3600
const start = (...flags: readonly string[]) => startOperator({ kubeconfig, flags })

/** Keys of an operator that was stopped after it had seen to them. */
async function left(
  specs: readonly OwnedAccessKeySpec[],
  metadata: Parameters<typeof keys.create>[1] = {},
) {
  await using _ = await start()
  const created = await Promise.all(specs.map((spec) => keys.create(spec, metadata)))
  // Awaited here, while the operator still runs.
  return await Promise.all(created.map((key) => keys.shown(key, 'Active')))
}

describe('after a time without an operator', () => {
  test('what is overdue is caught up, earliest end first (2.7)', async () => {
    // Their ends are neither in the order of their names nor in that of their creation.
    const minutes = [7, 3, 9, 1, 5, 8, 2, 10, 4, 6]
    const all = await left(
      minutes.map(() => ({})),
      createdAgo(HOUR),
    )
    await Promise.all(
      all.map((key, index) => keys.patch(key, { spec: { ttl: 60 * (minutes[index] ?? 0) } })),
    )
    const mark = await audit.mark()
    // One at a time: many at once start in this order, and may end in another.
    await using _ = await start('--workers=1')
    const expired = await Promise.all(all.map((key) => keys.shown(key, 'Expired')))
    const ends = new Map(
      expired.map(({ metadata, status }) => [metadata.name, status.expirationTimestamp ?? '']),
    )
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
    const reported = writes.flatMap(({ name, subresource }) =>
      subresource === 'status' && ends.has(name) ? (ends.get(name) ?? '') : [],
    )
    expect(reported).toEqual([...ends.values()].toSorted())
    expect(new Set(reported).size).toBe(minutes.length)
  })

  test('a use that was recorded meanwhile counts: the key never ended (2.6)', async () => {
    const [key] = await left([{ ttl: 2 * HOUR, ttlAfterLastActivity: true }], createdAgo(HOUR))
    if (!key) throw new Error('there is no key')
    // Over by the clock, had it not been used.
    await keys.patch(key, { spec: { ttl: HOUR / 2 } })
    const usedMs = Date.now()
    await keys.use(key, usedMs)
    const mark = await audit.mark()
    await using _ = await start()
    const active = await keys.shown(key, 'Active')
    expect(active.status.expirationTimestamp).toBe(textAfter(usedMs, HOUR / 2))
    expect(condition(active, 'Ready').lastTransitionTime).toBe(
      condition(key, 'Ready').lastTransitionTime,
    )
    expect(await writesTo(key, audit, mark)).toEqual(['patch status'])
  })

  test('a deletion is completed (5.1)', async () => {
    const [key] = await left([{}])
    if (!key) throw new Error('there is no key')
    await keys.remove(key)
    const deleting = await keys.read(key)
    expect(deleting?.metadata.deletionTimestamp).toBeDefined()
    const mark = await audit.mark()
    await using _ = await start()
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual(['patch'])
  })

  test('a key that is deleted before anybody saw it is gone (5.1)', async () => {
    const key = await keys.create()
    await keys.remove(key)
    expect(await keys.read(key)).toBeNull()
  })

  test('a key that its owner set meanwhile is used as it is (3.1)', async () => {
    const created = await keys.create()
    const secret = uniqueName('k'.repeat(32))
    await keys.patch(created, { spec: { key: secret } })
    await using _ = await start()
    const key = await keys.shown(created, 'Active')
    expect(key.spec.key).toBe(secret)
    expect(fieldsOfOperator(key)).not.toHaveProperty('f:spec')
    const reported = await keys.events(key)
    expect(reported.map(({ reason }) => reason)).not.toContain('KeyGenerated')
  })

  test('a login that ended meanwhile is marked, then deleted (5.2, 5.3)', async () => {
    const [key] = await left([{ type: 'Login', ttl: 2 * HOUR }], createdAgo(HOUR))
    if (!key) throw new Error('there is no key')
    await keys.patch(key, { spec: { ttl: HOUR / 2 } })
    const mark = await audit.mark()
    await using _ = await start()
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual(['patch status', 'delete', 'patch'])
  })
})
