// The audit log of a direct endpoint: by the settings of the platform, which gets the events (contract 23).
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { API_VERSION } from '../../src/api/names.ts'
import { settingsOf } from '../support/config-client.ts'
import { eventually } from '../support/eventually.ts'
import { ask } from '../support/gateway-process.ts'
import { generateKey } from '../../src/issuance/new-object.ts'
import { CLUSTER, startDirectCluster } from './direct-cluster.ts'
import { grantReading } from './direct-objects.ts'
import { startTokenPlatform } from './token-platform.ts'

const SOON = { withinMs: 30_000 }
const SHOP = '/kubernetes/cluster/api/v1/namespaces/shop/configmaps'
const EVENTS = `/agents/${CLUSTER}/auditevents`

const platform = await startTokenPlatform()
const { plane } = platform
const cluster = await startDirectCluster(platform)
await grantReading(cluster, 'shop', 'platform:group:dev')
const token = await platform.issueToken()
const settings = settingsOf(plane)
const root = mkdtempSync(join(tmpdir(), 'direct-audit-'))
afterAll(() => rmSync(root, { recursive: true }))

const audit = {
  enabled: true,
  path: join(root, 'platform'),
  level: 2,
  dataStoreEndpoint: `sqlite://${join(root, 'events.db')}`,
}
await settings.declare({ audit })

/** A key of a user with a right on one path of the management cluster. */
async function keyFor(user: string, verb: string, path: string, scope?: object): Promise<string> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const key = generateKey()
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }]
  const answers = await Promise.all([
    plane.raw('POST', `${rbac}/clusterroles`, {
      metadata: { name: user },
      rules: [{ nonResourceURLs: [path], verbs: [verb] }],
    }),
    plane.raw('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: user },
      roleRef,
      subjects,
    }),
    plane.raw('POST', `/apis/${API_VERSION}/ownedaccesskeys`, {
      apiVersion: API_VERSION,
      kind: 'OwnedAccessKey',
      metadata: { name: user },
      spec: { user, key, ...(scope ? { scope } : {}) },
    }),
  ])
  expect(answers.map(({ code }) => code)).toEqual([201, 201, 201])
  return key
}

const AGENT_SCOPE = {
  rules: [
    { nonResourceURLs: [EVENTS], verbs: ['post'] },
    {
      resources: [{ group: 'management.platform.sh', resources: ['configs'] }],
      verbs: ['get', 'list'],
    },
  ],
}
const agentKey = await keyFor('audit-agent', 'post', EVENTS, AGENT_SCOPE)
const auditorKey = await keyFor('auditor', 'get', '/audit/events')
writeFileSync(join(root, 'key'), `${agentKey}\n`)
writeFileSync(join(root, 'ca.crt'), platform.caPem)

const endpoint = await cluster.startEndpoint([
  `--audit-path=${join(root, 'direct')}`,
  '--audit-subdirectory=d0',
  `--central-url=${platform.gatewayUrl}`,
  `--central-ca-file=${join(root, 'ca.crt')}`,
  `--access-key-file=${join(root, 'key')}`,
  `--state-dir=${mkdtempSync(join(root, 'state-'))}`,
])
const file = join(root, 'direct', 'd0', 'audit.log')

interface Seen {
  readonly auditID: string
  readonly level: string
  readonly user: { readonly username: string }
  readonly annotations: Readonly<Record<string, string>>
}

const lines = (): readonly Seen[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Seen)
    : []

/** One request with a token. @returns the ID of its record */
async function request(): Promise<string> {
  const { code, headers } = await endpoint.call(SHOP, token)
  expect(code).toBe(200)
  return String(headers['audit-id'])
}

/** The events of this cluster at the platform. */
async function atPlatform(query: string): Promise<readonly Seen[]> {
  const url = `${platform.gatewayUrl}/kubernetes/management/audit/events?source=agent:${CLUSTER}&limit=1000&${query}`
  const headers = { authorization: `Bearer ${auditorKey}` }
  const { code, body } = await ask(url, { ca: platform.caPem, headers })
  if (code !== 200) throw new Error(`answered ${code}: ${body}`)
  return (JSON.parse(body) as { items: readonly Seen[] }).items
}

const arrived = (id: string): Promise<readonly Seen[]> =>
  eventually(
    'the event is at the platform',
    async () => {
      const found = await atPlatform(`auditID=${id}`).catch(() => [])
      return found.length > 0 ? found : undefined
    },
    SOON,
  )

test('a request is on record at the endpoint before its answer, and soon at the platform, as of this cluster (23.1, 23.2)', async () => {
  const id = await request()
  const [line, ...others] = lines().filter(({ auditID }) => auditID === id)
  expect(others).toEqual([])
  expect(line).toMatchObject({
    level: 'Metadata',
    annotations: { 'platform.sh/target': 'Cluster', 'platform.sh/cluster': CLUSTER },
  })
  expect(line?.annotations['platform.sh/token-id']).toEqual(expect.any(String))
  expect(await arrived(id)).toMatchObject([
    {
      auditID: id,
      annotations: { 'platform.sh/source': `agent:${CLUSTER}`, 'platform.sh/cluster': CLUSTER },
    },
  ])
  expect(JSON.stringify([lines(), endpoint.process.output()])).not.toContain(agentKey)
})

test('requests are answered and recorded while the platform is away, and each of their events arrives once (23.1)', async () => {
  await platform.stopIssuer()
  const ids = await Promise.all(Array.from({ length: 20 }, request))
  const recorded = new Set(lines().map(({ auditID }) => auditID))
  expect(ids.filter((id) => !recorded.has(id))).toEqual([])
  await platform.startIssuer()
  for (const id of ids) expect(await arrived(id)).toHaveLength(1)
})

test('the level follows the Config of the platform, and nothing is recorded once its audit log is off (23.1)', async () => {
  await settings.declare({ audit: { ...audit, level: 4 } })
  const isWhole = async () => {
    const id = await request()
    return lines().find(({ auditID, level }) => auditID === id && level === 'RequestResponse')
  }
  expect(await eventually('bodies are recorded', isWhole, SOON)).toHaveProperty('responseObject')
  await settings.declare({ audit: { ...audit, enabled: false } })
  const isOff = async () => {
    const id = await request()
    return lines().every(({ auditID }) => auditID !== id) || undefined
  }
  expect(await eventually('nothing is recorded', isOff, SOON)).toBe(true)
})
