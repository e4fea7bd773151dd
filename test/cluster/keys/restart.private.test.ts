// A started operator catches up on what happened without one (contract 2.6, 2.7).
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
  secondAfter,
  writesTo,
} from './key-client.ts'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)
const kubeconfig = await plane.operatorKubeconfig()

const HOUR = 3600
const start = (...flags: readonly string[]) => startOperator({ kubeconfig, flags })

/** Keys that an operator has adopted; it is stopped since. */
async function keysOfStoppedOperator(
  specs: readonly OwnedAccessKeySpec[],
  metadata: Parameters<typeof keys.create>[1] = {},
) {
  await using _ = await start()
  const created = await Promise.all(specs.map((spec) => keys.create(spec, metadata)))
  // Awaited here, before the operator stops.
  return await Promise.all(created.map((key) => keys.shown(key, 'Active')))
}

describe('a started operator', () => {
  test('expires overdue keys in the order of their ends (2.7)', async () => {
    // An order that is neither that of names nor that of creation.
    const minutes = [7, 3, 9, 1, 5, 8, 2, 10, 4, 6]
    const all = await keysOfStoppedOperator(
      minutes.map(() => ({})),
      createdAgo(HOUR),
    )
    await Promise.all(
      all.map((key, index) => keys.patch(key, { spec: { ttl: 60 * (minutes[index] ?? 0) } })),
    )
    const mark = await audit.mark()
    // One worker: several start in this order, but may finish in another.
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

  test('keeps a key Active whose use was recorded meanwhile (2.6)', async () => {
    const [key] = await keysOfStoppedOperator(
      [{ ttl: 2 * HOUR, ttlAfterLastActivity: true }],
      createdAgo(HOUR),
    )
    if (!key) throw new Error('there is no key')
    // Expired without that use.
    await keys.patch(key, { spec: { ttl: HOUR / 2 } })
    const usedMs = Date.now()
    await keys.use(key, usedMs)
    const mark = await audit.mark()
    await using _ = await start()
    const active = await keys.shown(key, 'Active')
    expect(active.status.expirationTimestamp).toBe(secondAfter(usedMs, HOUR / 2))
    expect(condition(active, 'Ready').lastTransitionTime).toBe(
      condition(key, 'Ready').lastTransitionTime,
    )
    expect(await writesTo(key, audit, mark)).toEqual(['patch status'])
  })

  test('completes a deletion (5.1)', async () => {
    const [key] = await keysOfStoppedOperator([{}])
    if (!key) throw new Error('there is no key')
    await keys.remove(key)
    const deleting = await keys.read(key)
    expect(deleting?.metadata.deletionTimestamp).toBeDefined()
    const mark = await audit.mark()
    await using _ = await start()
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual(['patch'])
  })

  test('does not block the deletion of a key created meanwhile (5.1)', async () => {
    const key = await keys.create()
    await keys.remove(key)
    expect(await keys.read(key)).toBeNull()
  })

  test('keeps a spec.key that a user set meanwhile (3.1)', async () => {
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

  test('marks a Login key that expired meanwhile, then deletes it (5.2, 5.3)', async () => {
    const [key] = await keysOfStoppedOperator([{ type: 'Login', ttl: 2 * HOUR }], createdAgo(HOUR))
    if (!key) throw new Error('there is no key')
    await keys.patch(key, { spec: { ttl: HOUR / 2 } })
    const mark = await audit.mark()
    await using _ = await start()
    await keys.gone(key)
    expect(await writesTo(key, audit, mark)).toEqual(['patch status', 'delete', 'patch'])
  })
})
