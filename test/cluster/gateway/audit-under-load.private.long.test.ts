// The audit log of gateways under load: killed again and again, and with other settings a hundred times (contract 21.2, 22.1 to 22.3).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AuditSettings } from '../../../src/api/config.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { eventually } from '../../support/eventually.ts'
import { valueOf } from '../../support/metrics-page.ts'
import { randomFrom } from '../../support/random.ts'
import { type AnsweredRequest, completed, eventsIn, startAuditLoad } from './audit-load.ts'
import { SUBDIRECTORY, auditWorld } from './audit-world.ts'
import { SOON } from './test-gateway.ts'

const { setup, settings, root, key } = await auditWorld()
const { plane, ca } = setup

const folderOf = (name: string): string => join(root, name)

/** Puts settings in force, and waits until the first gateway answers with a record by them. */
async function record(audit: AuditSettings): Promise<void> {
  await settings.declare({ audit })
  const isRecorded = async () => {
    const id = (await setup.ask(key.token, '/api/v1/namespaces')).headers['audit-id']
    return (
      eventsIn(join(audit.path ?? '', SUBDIRECTORY)).some(({ auditID }) => auditID === id) ||
      undefined
    )
  }
  await eventually('the gateway records', () => isRecorded().catch(() => undefined), SOON)
}

const ROUNDS = 30
const SEED = Date.now() % 1_000_000

test(`a request that was answered is on record once, here, in the store and at the API server, after ${ROUNDS} kills amid rotations (22.1 to 22.3)`, async () => {
  const { between } = randomFrom(SEED)
  const path = folderOf('killed')
  const dataStoreEndpoint = `sqlite://${join(root, 'events.db')}`
  await record({ enabled: true, path, level: 2, maxSize: 1, dataStoreEndpoint })
  const mark = await auditOf(plane).mark()
  const answered: AnsweredRequest[] = []
  let [gateway] = setup.gateways
  for (let round = 0; round < ROUNDS && gateway !== undefined; round += 1) {
    const load = startAuditLoad(gateway, { ca, token: key.token, prefix: `kill-${round}` })
    await wait(between(300, 1200))
    gateway.kill('SIGKILL')
    await gateway.exited
    await load.stop()
    answered.push(...load.answered)
    expect(load.unrecorded).toEqual([])
    gateway = await setup.anotherGateway()
  }
  if (gateway === undefined) throw new Error('there is no gateway')
  expect(answered.length).toBeGreaterThan(ROUNDS * 20)
  const events = eventsIn(join(path, SUBDIRECTORY))
  const counts = completed(events)
  expect(answered.filter(({ auditID }) => counts.get(auditID) !== 1)).toEqual([])
  await storeHasAll(gateway, counts.size)
  const upstream = new Set(
    (await auditOf(plane).linesSince(mark)).map(
      (line) => (JSON.parse(line) as { auditID: string }).auditID,
    ),
  )
  const forwarded = answered.filter(({ code }) => code < 400)
  expect(forwarded.filter(({ auditID }) => !upstream.has(auditID))).toEqual([])
  await gateway.stop()
})

/** Waits until the follower has read everything; nothing of it was refused or removed unread. */
async function storeHasAll(
  gateway: { readonly metrics: () => Promise<string> },
  least: number,
): Promise<void> {
  const counted = async (result: string) =>
    valueOf(await gateway.metrics(), `platform_audit_store_events_total{result="${result}"}`)
  const isCurrent = async () =>
    valueOf(await gateway.metrics(), 'platform_audit_store_lag_seconds') === 0 || undefined
  await wait(2000)
  await eventually('the store has everything', isCurrent, SOON)
  expect([await counted('refused'), await counted('unread')]).toEqual([0, 0])
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(join(root, 'events.db'), { readOnly: true })
  const { rows, ids } = database
    .prepare(
      `select count(*) as rows, count(distinct audit_id) as ids from audit_events where stage = 'ResponseComplete'`,
    )
    .get() as { rows: number; ids: number }
  database.close()
  expect(rows).toBe(ids)
  expect(rows).toBeGreaterThanOrEqual(least)
}

const CHANGES = 100

const requests = (level: string): AuditSettings => ({
  policy: { rules: [{ level, resources: [{ resources: ['configmaps'] }] }] },
})

/** Settings that all name a create of a ConfigMap, and the levels that they give it. */
const NAMING: readonly AuditSettings[] = [
  { level: 1 },
  { level: 2 },
  { level: 4 },
  requests('Metadata'),
  requests('Request'),
  requests('RequestResponse'),
]

test(`each create is on record once, by one policy, while level, policy and path change ${CHANGES} times (21.2, 6.6)`, async () => {
  const { between, pick } = randomFrom(SEED)
  const gateway = await setup.anotherGateway()
  const paths = ['one', 'two', 'three'].map(folderOf)
  for (const path of paths) mkdirSync(path, { recursive: true })
  const [first = ''] = paths
  await settings.declare({ audit: { enabled: true, path: first, level: 2 } })
  await wait(3000)
  const load = startAuditLoad(gateway, { ca, token: key.token, prefix: 'change' })
  for (let change = 0; change < CHANGES; change += 1) {
    await settings.declare({ audit: { enabled: true, path: pick(paths), ...pick(NAMING) } })
    await wait(between(20, 400))
  }
  await load.stop()
  await gateway.stop()
  expect(load.unrecorded).toEqual([])
  const creates = load.answered.filter(({ method }) => method === 'POST')
  expect(creates.length).toBeGreaterThan(CHANGES)
  const events = eventsIn(...paths.map((path) => join(path, SUBDIRECTORY)))
  const counts = completed(events)
  expect(creates.filter(({ auditID }) => counts.get(auditID) !== 1)).toEqual([])
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([])
  const bodies = new Map([
    ['Metadata', [false, false]],
    ['Request', [true, false]],
    ['RequestResponse', [true, true]],
  ])
  const ids = new Set(creates.map(({ auditID }) => auditID))
  const mixed = events.filter(({ auditID, stage, level, requestObject, responseObject }) => {
    const has = [requestObject !== undefined, responseObject !== undefined]
    const isWhole = ids.has(auditID) && stage === 'ResponseComplete'
    return isWhole && has.join() !== bodies.get(level)?.join()
  })
  expect(mixed).toEqual([])
  expect(new Set(events.map(({ level }) => level))).toEqual(new Set(bodies.keys()))
})
