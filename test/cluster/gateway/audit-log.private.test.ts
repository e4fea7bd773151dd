// The gateway's own audit log, beside that of the API server behind it (contract 21 to 22.2).
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { AuditSettings } from '../../../src/api/config.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, [
  '--audit-subdirectory=g0',
  '--audit-body-limit=4Ki',
  '--trusted-proxies=127.0.0.0/8',
])
const settings = settingsOf(setup.plane)
const upstream = auditOf(setup.plane)
const folder = mkdtempSync(join(tmpdir(), 'audit-'))
const file = join(folder, 'g0', 'audit.log')
afterAll(() => rmSync(folder, { recursive: true }))

/** An event as a line has it. */
interface Line {
  readonly auditID: string
  readonly level: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: Readonly<Record<string, string>>
  readonly responseStatus?: { readonly code: number }
  readonly annotations: Readonly<Record<string, string>>
}

const lines = (): readonly Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line)
    : []

const linesOf = (id: unknown): readonly Line[] => lines().filter(({ auditID }) => auditID === id)

/** Puts these settings in force, and waits until the gateway records a list by them. @param level of the list */
async function record(token: string, audit: AuditSettings, level: string): Promise<void> {
  await settings.declare({ audit: { enabled: true, path: folder, ...audit } })
  await eventually(
    'the gateway records by these settings',
    async () => {
      const { headers } = await setup.ask(token, '/api/v1/namespaces')
      return linesOf(headers['audit-id']).some((line) => line.level === level) || undefined
    },
    SOON,
  )
}

/** A user with every right, and a namespace. */
await setup.plane.raw('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
  metadata: { name: 'audit-root' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'root' }],
})
await setup.plane.raw('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })

const JSON_TYPE = { 'content-type': 'application/json' }

test('a gateway without audit in its Config touches nothing (21.1)', async () => {
  const { token } = await setup.key()
  await setup.ask(token, '/api')
  expect(readdirSync(folder)).toEqual([])
})

test('a request that the policy names has a line with the ID of its answer and of the API server (21.3, 22.2)', async () => {
  const { token, object } = await setup.key({ user: 'ada', type: 'User' })
  await record(token, { level: 2 }, 'Metadata')
  const mark = await upstream.mark()
  const { code, headers } = await setup.ask(token, '/api/v1/namespaces/shop/secrets/s?pretty=1')
  expect(code).toBe(403)
  expect(linesOf(headers['audit-id'])).toEqual([
    expect.objectContaining({
      stage: 'ResponseComplete',
      verb: 'get',
      requestURI: '/kubernetes/management/api/v1/namespaces/shop/secrets/s?pretty=1',
      user: expect.objectContaining({ username: 'ada' }),
      objectRef: { resource: 'secrets', namespace: 'shop', name: 's', apiVersion: 'v1' },
      responseStatus: {
        metadata: {},
        status: 'Failure',
        reason: 'Forbidden',
        message: expect.stringContaining('cannot get resource "secrets"'),
        code: 403,
      },
      annotations: {
        'platform.sh/target': 'Management',
        'platform.sh/access-key': object.metadata.name,
        'platform.sh/key-id': expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    }),
  ])
  const stored = (await upstream.linesSince(mark)).map((line) => JSON.parse(line) as Line)
  expect(stored.filter(({ auditID }) => auditID === headers['audit-id'])).not.toEqual([])
})

test('a watch has an event before its head and one at its end, which says what ended it (21.5)', async () => {
  const { token, object } = await setup.key({ user: 'root' })
  await record(token, { level: 2 }, 'Metadata')
  const watch = setup.ask(token, '/api/v1/namespaces/shop/configmaps?watch=1&timeoutSeconds=60')
  const started = await eventually(
    'the watch is recorded',
    () => streamsOf(object.metadata.name)[0],
    SOON,
  )
  expect(started).toMatchObject({ verb: 'watch', responseStatus: { code: 200 } })
  await setup.keys.patch(object, { spec: { disabled: true } })
  const { headers } = await watch
  const ended = await eventually('its end is recorded', () => linesOf(headers['audit-id'])[1], SOON)
  expect(ended).toMatchObject({
    auditID: started.auditID,
    stage: 'ResponseComplete',
    annotations: { 'platform.sh/end': 'key' },
  })
})

test('a client behind a trusted proxy is named here and upstream, and longer bodies are left out (21.3, 21.4, 22.6)', async () => {
  const { token } = await setup.key({ user: 'root' })
  await record(token, { level: 4 }, 'RequestResponse')
  const mark = await upstream.mark()
  const { headers } = await setup.ask(token, '/api/v1/namespaces/shop/configmaps', {
    method: 'POST',
    headers: { ...JSON_TYPE, 'x-forwarded-for': '198.51.100.7, 203.0.113.9, 127.0.0.9' },
    body: JSON.stringify({ metadata: { name: 'long' }, data: { text: 'x'.repeat(5000) } }),
  })
  expect(linesOf(headers['audit-id'])).toMatchObject([
    {
      sourceIPs: ['203.0.113.9'],
      objectRef: { resource: 'configmaps' },
      responseStatus: { code: 201 },
      annotations: {
        'platform.sh/forwarded-for': '198.51.100.7, 203.0.113.9, 127.0.0.9',
        'platform.sh/request-omitted': 'size',
        'platform.sh/response-omitted': 'size',
        'audit.k8s.io/truncated': 'true',
      },
    },
  ])
  const stored = (await upstream.linesSince(mark)).map((line) => JSON.parse(line) as Line)
  const [event] = stored.filter(({ auditID }) => auditID === headers['audit-id'])
  expect(event).toMatchObject({ sourceIPs: ['203.0.113.9', '127.0.0.1'] })
})

/** The streams of a key that have started. */
const streamsOf = (key: string): readonly Line[] =>
  lines().filter(
    ({ stage, annotations }) =>
      stage === 'ResponseStarted' && annotations['platform.sh/access-key'] === key,
  )

test('a refused key is named with the reason that its holder is not told (21.3, 21.6)', async () => {
  const { token, object } = await setup.key()
  await record(token, { level: 2 }, 'Metadata')
  await setup.keys.patch(object, { spec: { disabled: true } })
  const refused = await eventually(
    'the key is refused',
    async () => {
      const answer = await setup.ask(token, '/api/v1/namespaces')
      return answer.code === 401 ? answer : undefined
    },
    SOON,
  )
  const unknown = await setup.ask(`pak_${'x'.repeat(43)}_aaaaaa`, '/api/v1/namespaces')
  expect(linesOf(refused.headers['audit-id'])).toMatchObject([
    {
      level: 'Metadata',
      user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
      responseStatus: { code: 401, reason: 'Unauthorized' },
      annotations: {
        'platform.sh/decision': 'deny',
        'platform.sh/reason': 'disabled',
        'platform.sh/access-key': object.metadata.name,
      },
    },
  ])
  const [event] = linesOf(unknown.headers['audit-id'])
  expect(event?.annotations).toMatchObject({ 'platform.sh/reason': 'unknown' })
  expect(event?.annotations).not.toHaveProperty(['platform.sh/access-key'])
})

test('level 4 records both bodies, and no secret of a Secret, a key or a refused patch (21.4)', async () => {
  const { token } = await setup.key({ user: 'root' })
  await record(token, { level: 4 }, 'RequestResponse')
  const send = (method: string, path: string, body: unknown, type = JSON_TYPE) =>
    setup.ask(token, path, { method, headers: type, body: JSON.stringify(body) })
  const map = await send('POST', '/api/v1/namespaces/shop/configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { colour: 'green' },
  })
  expect(linesOf(map.headers['audit-id'])).toMatchObject([
    {
      level: 'RequestResponse',
      objectRef: { resource: 'configmaps', name: 'settings' },
      requestObject: { data: { colour: 'green' } },
      responseObject: { metadata: { uid: expect.any(String) }, data: { colour: 'green' } },
    },
  ])
  const secrets = '/api/v1/namespaces/shop/secrets'
  const planted = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }
  await send('POST', secrets, { ...planted, stringData: { p: 'CANARY-1' }, stringdata: 'CANARY-2' })
  const patch = { 'content-type': 'application/merge-patch+json' }
  const refused = await send('PATCH', `${secrets}/s`, { data: { p: 7, q: 'CANARY-3' } }, patch)
  expect(refused.code).toBeGreaterThanOrEqual(400)
  await setup.ask(token, secrets)
  const made = await send('POST', '/apis/management.platform.sh/v1/ownedaccesskeys', {
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: {},
    spec: { type: 'User' },
  })
  const { metadata, spec } = JSON.parse(made.body) as {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly key: string }
  }
  expect(linesOf(made.headers['audit-id'])).toMatchObject([
    { objectRef: { name: metadata.name }, responseStatus: { code: 201 } },
  ])
  await setup.ask(token, `/api/v1/namespaces/${spec.key}/pods?token=${token}`)
  const text = readFileSync(file, 'utf8')
  const secretTexts = ['CANARY', Buffer.from('CANARY-1').toString('base64'), spec.key, token]
  expect(secretTexts.filter((secret) => text.includes(secret))).toEqual([])
  expect(text).toContain('"/data/q"')
})

test('a request that cannot be recorded has no effect, and it heals by itself (22.2)', async () => {
  const { token } = await setup.key({ user: 'root' })
  const rules = [{ level: 'Metadata', verbs: ['create', 'list'] }]
  await record(token, { policy: { omitStages: ['RequestReceived'], rules } }, 'Metadata')
  rmSync(join(folder, 'g0'), { recursive: true })
  const path = '/api/v1/namespaces/shop/configmaps'
  const create = (name: string) =>
    setup.ask(token, path, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
    })
  expect((await create('under-way')).code).toBe(500)
  const mark = await upstream.mark()
  const refused = await create('refused')
  expect([refused.code, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(refused.body).toContain("the request can't be recorded in the audit log")
  expect((await setup.ask(token, `${path}/refused`)).code).toBe(404)
  const writes = await upstream.writesSince(mark)
  expect(writes.filter(({ resource }) => resource === 'configmaps')).toEqual([])
  mkdirSync(join(folder, 'g0'), { mode: 0o700 })
  const healed = await eventually(
    'it records again',
    async () => {
      const answer = await create('healed')
      return answer.code === 201 ? answer : undefined
    },
    { withinMs: 5000 },
  )
  expect(linesOf(healed.headers['audit-id'])).toHaveLength(1)
  expect(lines().map(({ objectRef }) => objectRef?.['name'])).toContain('under-way')
})
