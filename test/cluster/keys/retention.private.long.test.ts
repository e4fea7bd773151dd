/** @module-tag no-retry */
// What happens after expiry with a retention of two seconds, seen in the audit log (contract 5.2).
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

/** The one delete of a key: when the API server received it. */
async function deletionOf({ metadata: { name } }: StoredKey, of: { readonly offset: number }) {
  const writes = await audit.writesSince(of, { user: OPERATOR_USER })
  const deletes = writes.filter((write) => write.verb === 'delete' && write.name === name)
  expect(deletes.map(({ code }) => code)).toEqual([200])
  return Date.parse(deletes[0]?.at ?? '')
}

describe('an expired key', () => {
  // biome-ignore format: a table
  test.concurrent.each([
    { name: 'of a user', spec: { type: 'User', ttl: 2 } as const },
    { name: 'that slides', spec: { ttl: 2, ttlAfterLastActivity: true } },
    { name: 'that is disabled', spec: { ttl: 2, disabled: true } },
    { name: 'of nobody', spec: { ttl: 2, user: '' } },
  ])('$name goes when its retention is over, not before (5.2)', async ({ spec }) => {
    const mark = await audit.mark()
    const created = await keys.create(spec)
    await keys.gone(created)
    const removalMs = createdMs(created) + (spec.ttl + RETENTION) * 1000
    expect(await deletionOf(created, mark)).toBeGreaterThanOrEqual(removalMs)
  })

  // The cap binds all keys: nothing else may run beside these.
  // biome-ignore format: a table
  test.each([
    { name: 'a login', spec: { type: 'Login' } as const, metadata: createdAgo(HOUR) },
    { name: 'one that is to be deleted', spec: { ttl: 2 * HOUR },
      metadata: { annotations: { ...createdAgo(HOUR).annotations, [EXPIRED_ANNOTATION]: 'Delete' } } },
    { name: 'any other', spec: {}, metadata: createdAgo(HOUR) },
  ])('that the cap ended stays for the retention from then: $name (5.2)', async ({ spec, metadata }) => {
    await settings.declare({})
    // A key that is seen before that would end by the cap of the test before, and go.
    await settings.settled('there is no cap', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
    const created = await keys.until(await keys.create(spec, metadata), 'is not capped', isFree)
    const mark = await audit.mark()
    const loweredMs = Date.now()
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 60 } })
    await keys.gone(created)
    expect(await deletionOf(created, mark)).toBeGreaterThanOrEqual(loweredMs + RETENTION * 1000)
  })

  test('that the cap ended and Keep keeps stays for good (5.2)', async () => {
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 60 } })
    const annotations = { ...createdAgo(HOUR).annotations, [EXPIRED_ANNOTATION]: 'Keep' }
    const kept = await keys.shown(await keys.create({}, { annotations }), 'Expired')
    expect(kept.status).not.toHaveProperty('removalTimestamp')
    expect(condition(kept, 'LifetimeCapped').reason).toBe('CappedByConfig')
  })
})

const isFree = ({ status: { conditions = [] } }: StoredKey): boolean =>
  findCondition(conditions, 'Ready')?.reason === 'Active' && conditions.length === 1
