// What a thousand access keys cost the API server: the requests of the operator, which do not depend on the machine.
import { expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { type Calls, callsSince } from '../../support/api-calls.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type Operator, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { isIdle, metric } from '../../support/metrics-page.ts'
import { newKey } from '../../support/object-builder.ts'
import { createMany } from '../../support/raw-client.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)
const settings = settingsOf(plane)
const kubeconfig = await plane.operatorKubeconfig()

const MANY = 1000
const CONCURRENT_DELETES = 8
const keys = () => Array.from({ length: MANY }, () => newKey())
/** Some ten seconds on a machine that has nothing else to do. */
const IN_TIME = { withinMs: 240_000 }

/** Requests for keys, other than the list and the watch at a start. */
async function callsOf(act: () => Promise<unknown>): Promise<Calls> {
  const mark = await audit.mark()
  await act()
  const calls = await callsSince(audit, mark, OPERATOR_USER)
  const ofKeys = Object.entries(calls).filter(
    ([call]) => call === 'conflict' || /^(?!watch |list )\S+ ownedaccesskeys(?:$|\/)/.test(call),
  )
  return Object.fromEntries(ofKeys)
}

/** One by one: a request for all would take longer than a request may. */
async function deleteAll(names: readonly string[]): Promise<void> {
  const left = [...names]
  const deleters = Array.from({ length: CONCURRENT_DELETES }, async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop())
      await plane.raw('DELETE', pathOf(ACCESS_KEYS, { name }))
  })
  await Promise.all(deleters)
}

const untilKeysAre = (operator: Operator, state: string, count: number): Promise<true> =>
  eventually(
    `${count} keys are ${state}`,
    async () => {
      const isSo = (await metric(operator, 'platform_access_keys', `state="${state}"`)) === count
      return (isSo && (await isIdle(operator, 'ownedaccesskey'))) || undefined
    },
    IN_TIME,
  )

test('a key costs two writes when it is new, one at its end, one at its deletion, and no reads (3.1, 8.6)', async () => {
  let names: readonly string[] = []
  {
    await using operator = await startOperator({ kubeconfig })
    const created = await callsOf(async () => {
      names = (await createMany<KubeObject>(plane, ACCESS_KEYS, keys())).map(
        ({ metadata }) => metadata.name,
      )
      await untilKeysAre(operator, 'active', MANY)
    })
    expect(created).toEqual({
      'patch ownedaccesskeys': MANY,
      'patch ownedaccesskeys/status': MANY,
    })
    const expired = await callsOf(async () => {
      await settings.declare({ auth: { accessKeyMaxTTLSeconds: 1 } })
      await untilKeysAre(operator, 'expired', MANY)
    })
    expect(expired).toEqual({ 'patch ownedaccesskeys/status': MANY })
  }
  await using operator = await startOperator({ kubeconfig })
  expect(await callsOf(() => untilKeysAre(operator, 'expired', MANY))).toEqual({})
  const deleted = await callsOf(async () => {
    await deleteAll(names)
    await untilKeysAre(operator, 'expired', 0)
  })
  expect(deleted).toEqual({ 'patch ownedaccesskeys': MANY })
})
