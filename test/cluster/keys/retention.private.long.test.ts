/** @module-tag no-retry */
// The deletion of expired keys with a retention of two seconds, by the audit log (contract 5.2).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION } from '../../../src/api/names.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { type StoredKey, condition, createdMs, keyClientOf, createdAgo } from './key-client.ts'

const RETENTION = 2
const HOUR = 3600

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)
const settings = settingsOf(plane)
let operator: OwnOperator

beforeAll(async () => {
  const flags = [`--expired-retention=${RETENTION}s`]
  operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(() => operator?.stop())

/** When the API server received the one delete of a key. */
async function deletionOf({ metadata: { name } }: StoredKey, of: { readonly offset: number }) {
  const writes = await audit.writesSince(of, { user: OPERATOR_USER })
  const deletes = writes.filter((write) => write.verb === 'delete' && write.name === name)
  expect(deletes.map(({ code }) => code)).toEqual([200])
  return Date.parse(deletes[0]?.at ?? '')
}

describe('an expired key', () => {
  // biome-ignore format: a table
  test.concurrent.each([
    { name: 'of type User', spec: { type: 'User', ttl: 2 } as const },
    { name: 'that slides', spec: { ttl: 2, ttlAfterLastActivity: true } },
    { name: 'that is disabled', spec: { ttl: 2, disabled: true } },
    { name: 'without an identity', spec: { ttl: 2, user: '' } },
  ])('$name is deleted after its retention, not before (5.2)', async ({ spec }) => {
    const mark = await audit.mark()
    const created = await keys.create(spec)
    await keys.gone(created)
    const removalMs = createdMs(created) + (spec.ttl + RETENTION) * 1000
    expect(await deletionOf(created, mark)).toBeGreaterThanOrEqual(removalMs)
  })

  // Not concurrent: the cap applies to all keys.
  // biome-ignore format: a table
  test.each([
    { name: 'of type Login', spec: { type: 'Login' } as const, metadata: createdAgo(HOUR) },
    { name: 'annotated for deletion', spec: { ttl: 2 * HOUR },
      metadata: { annotations: { ...createdAgo(HOUR).annotations, [EXPIRED_ANNOTATION]: 'Delete' } } },
    { name: 'of no type', spec: {}, metadata: createdAgo(HOUR) },
  ])('is kept for the retention since the cap ended it: $name (5.2)', async ({ spec, metadata }) => {
    await settings.declare({})
    // Before that, the cap of the previous test would expire the new key.
    await settings.settled('there is no cap', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
    const created = await keys.until(await keys.create(spec, metadata), 'is not capped', isFree)
    const mark = await audit.mark()
    const loweredMs = Date.now()
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 60 } })
    await keys.gone(created)
    expect(await deletionOf(created, mark)).toBeGreaterThanOrEqual(loweredMs + RETENTION * 1000)
  })

  test('stays for good when the cap expired it and its annotation says Keep (5.2)', async () => {
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 60 } })
    const annotations = { ...createdAgo(HOUR).annotations, [EXPIRED_ANNOTATION]: 'Keep' }
    const kept = await keys.shown(await keys.create({}, { annotations }), 'Expired')
    expect(kept.status).not.toHaveProperty('removalTimestamp')
    expect(condition(kept, 'LifetimeCapped').reason).toBe('CappedByConfig')
  })
})

const isFree = ({ status: { conditions = [] } }: StoredKey): boolean =>
  findCondition(conditions, 'Ready')?.reason === 'Active' && conditions.length === 1
