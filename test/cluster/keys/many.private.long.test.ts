// With five thousand keys a restart writes nothing, and a changed cap writes only the keys that it shortens.
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { type Mark, auditOf, countWrites } from '../../support/audit-log.ts'
import { type Operator, startOperator } from '../../support/command-process.ts'
import { isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { isIdle, metric, reconciled } from '../../support/metrics-page.ts'
import { newKey } from '../../support/object-builder.ts'
import { createMany } from '../../support/raw-client.ts'
import { repeated } from '../../support/tier.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)
const settings = settingsOf(plane)
const kubeconfig = await plane.operatorKubeconfig()

const MANY = repeated(500, 5000)
const DAY = 86_400
const IN_TIME = { withinMs: 180_000 }

/** Every hundredth lives longer than the later cap; every second one longer than a Node.js timer. */
const specOf = (index: number): OwnedAccessKeySpec => {
  if (index % 100 === 0) return index % 200 === 0 ? {} : { ttl: 90 * DAY }
  return index % 2 === 0 ? { ttl: 30 * DAY } : { ttl: DAY, ttlAfterLastActivity: true }
}
const CAP = 60 * DAY
const AFFECTED = MANY / 100

const wanted = () => Array.from({ length: MANY }, (_, index) => newKey(specOf(index)))

const CONTROLLER = 'ownedaccesskey'

/** Waits until the operator has reconciled every key again and is idle. */
async function untilAllReconciled(operator: Operator, before = 0): Promise<number> {
  return eventually(
    'every key is reconciled',
    async () => {
      const count = await reconciled(operator, CONTROLLER)
      return count - before >= MANY && (await isIdle(operator, CONTROLLER)) ? count : undefined
    },
    IN_TIME,
  )
}

const writesSince = async (mark: Mark) =>
  audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })

describe('five thousand keys', () => {
  test('get one apply and one status write each (3.1, 8.6)', async () => {
    const mark = await audit.mark()
    await using operator = await startOperator({ kubeconfig })
    await createMany(plane, ACCESS_KEYS, wanted())
    const states = 'platform_access_keys'
    await eventually(
      'every key is Active',
      async () => (await isSettled(operator, states)) || undefined,
      IN_TIME,
    )
    const writes = await writesSince(mark)
    const toKeys = writes.filter(({ resource }) => resource === ACCESS_KEYS.plural)
    expect(countWrites(toKeys)).toEqual({ 'patch  200': MANY, 'patch status 200': MANY })
  })

  test('get no write at a restart, and no reconcile afterwards (2.3)', async () => {
    const mark = await audit.mark()
    await using operator = await startOperator({ kubeconfig })
    const count = await untilAllReconciled(operator)
    expect(await writesSince(mark)).toEqual([])
    // Thirty days exceed the longest timer, which would fire at once.
    const isQuiet = async () => expect(await reconciled(operator, CONTROLLER)).toBe(count)
    await staysTrue('no key is reconciled again', isQuiet, { forMs: 1500 })
  })

  test('get one write each if the cap shortens them, and none else (2.2, 2.5)', async () => {
    await using operator = await startOperator({ kubeconfig })
    const before = await untilAllReconciled(operator)
    const mark = await audit.mark()
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP } })
    await settings.settled('the cap is in force', isReadyBy('Applied'))
    await untilAllReconciled(operator, before)
    const writes = await writesSince(mark)
    const toKeys = writes.filter(({ resource }) => resource === ACCESS_KEYS.plural)
    expect(countWrites(toKeys)).toEqual({ 'patch status 200': AFFECTED })
    expect(new Set(toKeys.map(({ name }) => name)).size).toBe(AFFECTED)
    const isCounted = async () => {
      const capped = await metric(operator, 'platform_lifetimes_capped', 'OwnedAccessKey')
      return capped === AFFECTED || undefined
    }
    await eventually('the metric counts them', isCounted, IN_TIME)
  })
})

async function isSettled(operator: Operator, states: string): Promise<boolean> {
  return (
    (await metric(operator, states, 'state="active"')) === MANY &&
    (await isIdle(operator, CONTROLLER))
  )
}
