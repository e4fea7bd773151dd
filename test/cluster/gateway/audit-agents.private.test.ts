// Events that agents of connected clusters send to the gateway: whom it takes them from, and where they are then (contract 23.1 to
// 23.3).
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { eventListOf } from '../../../src/domain/audit/event-list.ts'
import { generateKey } from '../../../src/issuance/new-object.ts'
import { auditEvent, type BuiltEvent } from '../../support/audit-event-builder.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { SOON, startTestGateway, type UsableKey } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, ['--audit-subdirectory=g0'])
const { plane } = setup
const settings = settingsOf(plane)
const folder = mkdtempSync(join(tmpdir(), 'audit-agents-'))
const file = join(folder, 'g0', 'audit.log')
afterAll(() => rmSync(folder, { recursive: true }))

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const audit = { enabled: true, path: folder, level: 4 }
const stored = { ...audit, dataStoreEndpoint: `sqlite://${join(folder, 'events.db')}` }

const grant = (user: string, verb: string, path: string): Promise<unknown> =>
  Promise.all([
    plane.raw('POST', `${RBAC}/clusterroles`, {
      metadata: { name: user },
      rules: [{ nonResourceURLs: [path], verbs: [verb] }],
    }),
    plane.raw('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    }),
  ])

const PATH_OF = (cluster: string): string => `/agents/${cluster}/auditevents`

/** Events of now, each of its own request. */
const eventsOf = (count: number, fields: BuiltEvent = {}): readonly BuiltEvent[] =>
  Array.from({ length: count }, () => {
    const now = new Date().toISOString().replace('Z', '000Z')
    const times = { requestReceivedTimestamp: now, stageTimestamp: now }
    return auditEvent({ auditID: randomUUID(), ...times, ...fields })
  })

async function send(key: UsableKey, cluster: string, events: readonly unknown[]) {
  const body = eventListOf(
    events.map((event) => JSON.stringify(event)),
    null,
  )
  const headers = { 'content-type': 'application/json' }
  const answer = await setup.ask(key.token, PATH_OF(cluster), { method: 'POST', headers, body })
  return { code: answer.code, headers: answer.headers, body: answer.body }
}

interface Line {
  readonly auditID: string
  readonly requestURI: string
  readonly annotations: Readonly<Record<string, string>>
  readonly requestObject?: unknown
}

const lines = (): readonly Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
    : []

const linesOf = (events: readonly BuiltEvent[]): readonly Line[] => {
  const ids = new Set(events.map(({ auditID }) => auditID))
  return lines().filter(({ auditID }) => ids.has(auditID))
}

/** The key of the agent of cluster east, by a scope with the path of that cluster. */
const ofEast: Scope = { rules: [{ verbs: ['post'], nonResourceURLs: [PATH_OF('east')] }] }

let agent: UsableKey
let auditor: UsableKey
beforeAll(async () => {
  await Promise.all([grant('agent', 'post', '/agents/*'), grant('auditor', 'get', '/audit/events')])
  ;[agent, auditor] = await Promise.all([
    setup.key({ user: 'agent', scope: ofEast }),
    setup.key({ user: 'auditor' }),
  ])
}, 60_000)

/** Puts audit with a data store in force, and waits until both are. */
async function record(): Promise<void> {
  await settings.declare({ audit: stored })
  const isUsed = async () =>
    (await setup.ask(auditor.token, '/audit/events')).code === 200 || undefined
  await eventually('the gateway uses the data store', isUsed, SOON)
}

test('an agent is told where audit is off, and drops its events (23.2)', async () => {
  await settings.declare({ audit: { enabled: false } })
  const isOff = async () => (await send(agent, 'east', eventsOf(1))).code === 409 || undefined
  await eventually('the gateway knows that audit is off', isOff, SOON)
})

test('events of an agent are in the file once they are answered, and in the store once, however often they were sent (23.2)', async () => {
  await record()
  const events = eventsOf(1000)
  const answer = await send(agent, 'east', events)
  expect({ code: answer.code, body: answer.body }).toEqual({ code: 200, body: '{"events":1000}' })
  expect(linesOf(events)).toHaveLength(1000)
  expect((await send(agent, 'east', events)).code).toBe(200)
  expect(linesOf(events)).toHaveLength(2000)
  const found = async () => {
    const { body } = await setup.ask(auditor.token, '/audit/events?source=agent:east&limit=1000')
    const list = JSON.parse(body) as { items: readonly Line[]; metadata: { continue?: string } }
    return list.items.length === 1000 ? list : undefined
  }
  const list = await eventually('all are stored', found, SOON)
  expect(list.metadata.continue).toBeUndefined()
  expect(new Set(list.items.map(({ auditID }) => auditID)).size).toBe(1000)
  expect(
    list.items.every(({ annotations }) => annotations['platform.sh/source'] === 'agent:east'),
  ).toBe(true)
  const filters = `source=agent:east&cluster=east&resource=secrets&auditID=${String(events[7]?.['auditID'])}`
  const one = await setup.ask(auditor.token, `/audit/events?${filters}`)
  expect(JSON.parse(one.body)).toMatchObject({ items: [{ auditID: events[7]?.['auditID'] }] })
})

test('an agent speaks for the cluster of its path, whatever its events claim (23.2)', async () => {
  await record()
  const claims = {
    'platform.sh/target': 'Cluster',
    'platform.sh/cluster': 'west',
    'platform.sh/source': 'g0',
  }
  const events = eventsOf(1, { annotations: claims })
  expect((await send(agent, 'east', events)).code).toBe(200)
  expect(linesOf(events)[0]?.annotations).toEqual({
    'platform.sh/target': 'Cluster',
    'platform.sh/cluster': 'east',
    'platform.sh/source': 'agent:east',
  })
})

test('a key whose scope names the path of one cluster sends for no other, and RBAC decides behind it (23.1)', async () => {
  await record()
  const roles: Scope = { roles: [{ role: 'agent' }] }
  const [ofRole, other, unscoped] = await Promise.all([
    setup.key({ user: 'agent', scope: roles }),
    setup.key({ user: 'bob', scope: roles }),
    setup.key({ user: 'agent' }),
  ])
  const events = eventsOf(1)
  const sent = async (key: UsableKey, cluster: string) => (await send(key, cluster, events)).code
  expect([
    await sent(agent, 'west'),
    await sent(agent, 'we%73t'),
    await sent(other, 'east'),
  ]).toEqual([403, 403, 403])
  expect(linesOf(events)).toEqual([])
  expect([
    await sent(ofRole, 'west'),
    await sent(unscoped, 'north'),
    await sent(agent, 'e%61st'),
  ]).toEqual([200, 200, 200])
  expect(linesOf(events).map(({ annotations }) => annotations['platform.sh/source'])).toEqual([
    'agent:west',
    'agent:north',
    'agent:east',
  ])
  const metrics = (await setup.gateways[0]?.metrics()) ?? ''
  const clusters = [
    ...metrics.matchAll(/platform_audit_agent_lag_seconds\{cluster="(\w+)"\} (\S+)/g),
  ]
  expect(
    clusters.map(([, cluster = '']) => cluster).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(['east', 'north', 'west'])
  for (const [, , seconds] of clusters) expect(Number(seconds)).toBeLessThan(60)
  // At no level are the batches themselves recorded (21.1).
  expect(
    lines().filter(({ requestURI }) => requestURI.endsWith('/agents/east/auditevents')),
  ).toEqual([])
})

test('a batch with one bad event is refused as a whole, and the answer names the event and no secret (23.2)', async () => {
  await record()
  const key = generateKey()
  const events = [...eventsOf(3), { ...eventsOf(1)[0], auditID: key }, ...eventsOf(3)]
  const answer = await send(agent, 'east', events)
  expect(answer.code).toBe(400)
  expect(JSON.parse(answer.body)).toMatchObject({
    message: 'nothing was kept: items[3]: auditID is not a UUID in lower case',
  })
  expect(linesOf(events as readonly BuiltEvent[])).toEqual([])
  const outputs = [setup.operator, ...setup.gateways].map((one) => JSON.stringify(one.output()))
  expect(outputs.filter((output) => output.includes(key))).toEqual([])
  expect(answer.body).not.toContain(key)
  expect(readFileSync(file, 'utf8')).not.toContain(key)
})

test('secrets that an agent did not hide are hidden in the file and in every answer (21.4, 23.2)', async () => {
  await record()
  const [key, canary] = [generateKey(), 'hunter2-canary']
  const secret = { kind: 'Secret', apiVersion: 'v1', data: { a: canary }, metadata: { name: 's' } }
  const events = eventsOf(2, {
    level: 'RequestResponse',
    userAgent: key,
    requestURI: `/api?key=${key}`,
    user: { username: key, groups: [key] },
    requestObject: secret,
    responseObject: { kind: 'SecretList', items: [secret] },
    responseStatus: { metadata: {}, code: 422, message: `${canary} is invalid` },
    unknown: canary,
  })
  expect((await send(agent, 'east', events)).code).toBe(200)
  const filters = `auditID=${String(events[0]?.['auditID'])}`
  const ask = async () => {
    const { body } = await setup.ask(auditor.token, `/audit/events?${filters}`)
    return (JSON.parse(body) as { items: readonly unknown[] }).items.length === 1 ? body : undefined
  }
  const answer = await eventually('the event is stored', ask, SOON)
  for (const text of [answer, readFileSync(file, 'utf8')]) {
    expect(text).not.toContain(canary)
    expect(text).not.toContain(key)
  }
  expect(linesOf(events)[0]?.requestObject).toMatchObject({ data: '<hidden>' })
})
