// What a client can make the audit log of a gateway cost: room on the disk without a key, memory and turns of the event loop with one
// (contract 21.4, 21.6; threats X7).
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditSettings } from '../../../src/api/config.gen.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, type OwnGateway } from '../../support/gateway-process.ts'
import { completed, eventsIn } from './audit-load.ts'
import { SUBDIRECTORY, auditWorld } from './audit-world.ts'
import { MAX_LAG_MS, measureUnderLoad, runMany } from './gateway-load.ts'
import { MANAGEMENT, SOON } from './test-gateway.ts'

const { setup, settings, root, key } = await auditWorld()
const { plane, ca } = setup
const folder = join(root, SUBDIRECTORY)

/** Puts settings in force, and waits until a gateway records by them. @param level null = nothing is recorded */
async function record(
  gateway: OwnGateway,
  audit: AuditSettings,
  level: string | null,
): Promise<void> {
  await settings.declare({ audit })
  const headers = { authorization: `Bearer ${key.token}` }
  const isInForce = async () => {
    const path = `${MANAGEMENT}/api/v1/namespaces`
    const { headers: answer } = await ask(`${gateway.url()}${path}`, { ca, headers })
    const found = eventsIn(folder).filter(({ auditID }) => auditID === answer['audit-id'])
    return level === null ? found.length === 0 : found.some((one) => one.level === level)
  }
  const isSo = () =>
    isInForce().then(
      (is) => is || undefined,
      () => (level === null ? true : undefined),
    )
  await eventually('the settings are in force', isSo, SOON)
}

const FLOOD = 10_000
const PER_SECOND = 50

test(`${FLOOD} requests without a key leave bounded lines, each is answered and counted, and others are served (21.6)`, async () => {
  const [gateway] = setup.gateways
  if (gateway === undefined) throw new Error('there is no gateway')
  await record(gateway, { enabled: true, path: root, level: 2 }, 'Metadata')
  const before = eventsIn(folder).length
  const startedMs = performance.now()
  const served = { codes: [] as number[], isOver: false }
  const others = (async () => {
    while (!served.isOver) served.codes.push((await setup.ask(key.token, '/api')).code)
  })()
  const codes = await runMany(FLOOD, async () => (await setup.ask(null, '/api')).code)
  const seconds = (performance.now() - startedMs) / 1000
  served.isOver = true
  await others
  expect(new Set(codes)).toEqual(new Set([401]))
  expect(new Set(served.codes)).toEqual(new Set([200]))
  // The first event after the flood says how many the last second left out.
  const isHeard = async () => {
    const id = (await setup.ask(null, '/api')).headers['audit-id']
    return eventsIn(folder).some(({ auditID }) => auditID === id) || undefined
  }
  await eventually('a request without a key is recorded', isHeard, SOON)
  const events = eventsIn(folder).slice(before)
  const anonymous = events.filter(
    ({ annotations }) => annotations?.['platform.sh/reason'] === 'none',
  )
  // A second more at either end.
  expect(anonymous.length).toBeLessThanOrEqual((seconds + 2) * PER_SECOND)
  expect(completed(events).size).toBeGreaterThanOrEqual(served.codes.length)
  const suppressed = anonymous.reduce(
    (sum, { annotations }) => sum + Number(annotations?.['platform.sh/suppressed'] ?? 0),
    0,
  )
  console.log(
    `${FLOOD} in ${seconds.toFixed(1)} s: ${anonymous.length} lines, ${suppressed} left out`,
  )
  expect(anonymous.length + suppressed).toBeGreaterThanOrEqual(FLOOD)
})

const LISTS = 200
/** With the overhead of an object, an answer of 3 MiB. */
const MAPS = 4
const MAP_BYTES = 780_000

test(`${LISTS} answers of 3 MiB at once at level 4 take at most 150 MiB more than without audit, and no turn of 50 ms more (21.4)`, async () => {
  for (let at = 0; at < MAPS; at += 1)
    await plane.raw('POST', '/api/v1/namespaces/shop/configmaps', {
      metadata: { name: `large-${at}` },
      data: { text: 'x'.repeat(MAP_BYTES) },
    })
  const url = (gateway: OwnGateway): string =>
    `${gateway.url()}${MANAGEMENT}/api/v1/namespaces/shop/configmaps`
  const headers = { authorization: `Bearer ${key.token}` }
  const measure = async (audit: AuditSettings, level: string | null) => {
    await Promise.all(setup.gateways.map((one) => one.stop()))
    const gateway = await setup.anotherGateway()
    try {
      await record(gateway, audit, level)
      return await measureUnderLoad(gateway, async () => {
        const lists = Array.from({ length: LISTS }, () => ask(url(gateway), { ca, headers }))
        const answers = await Promise.all(lists)
        return answers.filter(({ code, body }) => code === 200 && body.length > 3_000_000).length
      })
    } finally {
      await gateway.stop()
    }
  }
  const without = await measure({ enabled: false, path: root }, null)
  const recorded = await measure({ enabled: true, path: root, level: 4 }, 'RequestResponse')
  console.log(
    `memory +${without.grownMiB.toFixed(0)} and +${recorded.grownMiB.toFixed(0)} MiB, lag ${without.lagMs.toFixed(0)} and ${recorded.lagMs.toFixed(0)} ms`,
  )
  expect([...without.results, ...recorded.results].every((whole) => whole === LISTS)).toBe(true)
  expect(recorded.grownMiB - without.grownMiB).toBeLessThan(150)
  expect(recorded.lagMs - without.lagMs).toBeLessThan(MAX_LAG_MS)
})
