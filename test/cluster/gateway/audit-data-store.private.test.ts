// The data store of the gateway's audit log: Config names it, the manager hands its endpoint over, the gateway fills it and answers
// questions from it (contract 6.8, 22.3, 22.4).
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { settingsOf } from '../../support/config-client.ts'
import { runProgram } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { SOON, startTestGateway, type UsableKey } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, ['--audit-subdirectory=g0'])
const { plane } = setup
const settings = settingsOf(plane)
const folder = mkdtempSync(join(tmpdir(), 'audit-store-'))
const database = join(folder, 'events.db')
afterAll(() => rmSync(folder, { recursive: true }))

const SECRET = '/api/v1/namespaces/platform-system/secrets/platform-settings-gateway'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

const audit = { enabled: true, path: folder, level: 2 }
const stored = { audit: { ...audit, dataStoreEndpoint: `sqlite://${database}` } }

await plane.raw('POST', `${RBAC}/clusterrolebindings`, {
  metadata: { name: 'auditors' },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'platform-audit-viewer',
  },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'auditor' }],
})

interface EventList {
  readonly kind: string
  readonly metadata: { readonly continue?: string }
  readonly items: readonly {
    readonly auditID: string
    readonly stage: string
    readonly requestURI: string
    readonly user: { readonly username: string }
  }[]
}

async function events(key: UsableKey, query: string): Promise<EventList> {
  const { code, body } = await setup.ask(key.token, `/audit/events?${query}`)
  if (code !== 200) throw new Error(`answered ${code}: ${body}`)
  return JSON.parse(body) as EventList
}

/** The config in the Secret for the gateway; null = there is none. */
async function handedOver(): Promise<unknown> {
  const { code, body } = await plane.raw<{ data: { config: string } }>('GET', SECRET)
  return code === 404 ? null : JSON.parse(Buffer.from(body.data.config, 'base64').toString())
}

/** Puts a data store in force, and waits until it is in use. */
async function useStore(auditor: UsableKey): Promise<void> {
  await settings.declare(stored)
  const isUsed = async () =>
    (await setup.ask(auditor.token, '/audit/events')).code === 200 || undefined
  await eventually('the gateway uses the data store', isUsed, SOON)
}

test('a question without a data store is answered 404, and the gateway has no Secret (22.4, 6.8)', async () => {
  const auditor = await setup.key({ user: 'auditor' })
  const { code, body } = await setup.ask(auditor.token, '/audit/events')
  expect({ code, message: (JSON.parse(body) as { message: string }).message }).toEqual({
    code: 404,
    message: expect.stringContaining('set audit.dataStoreEndpoint in the Config'),
  })
  expect(await handedOver()).toBeNull()
})

test('a request is found by user and key within seconds, by URL, kubectl and command (22.3, 22.4)', async () => {
  const auditor = await setup.key({ user: 'auditor' })
  await useStore(auditor)
  expect(await handedOver()).toEqual({ audit: { dataStoreEndpoint: `sqlite://${database}` } })
  const ada = await setup.key({ user: 'ada' })
  const { headers } = await setup.ask(ada.token, '/api/v1/namespaces/shop/secrets/s')
  const id = String(headers['audit-id'])
  const list = await eventually(
    'the event is stored',
    async () => {
      const found = await events(auditor, `user=ada&resource=secrets&name=s&since=1h&auditID=${id}`)
      return found.items.length === 0 ? undefined : found
    },
    SOON,
  )
  expect(list).toMatchObject({
    kind: 'EventList',
    items: [{ auditID: id, stage: 'ResponseComplete' }],
  })
  const query = `/audit/events?key=${ada.object.metadata.name}&code=403&limit=1`
  const asked = await setup.kubectl(auditor, ['get', '--raw', query])
  expect(asked.code).toBe(0)
  expect((JSON.parse(asked.stdout) as EventList).items).toMatchObject([{ auditID: id }])
  const flags = [`--kubeconfig=${auditor.kubeconfig}`, '--user=ada', '--resource=secrets']
  const printed = await runProgram(['audit', ...flags])
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining('ada') })
  expect(printed.stderr).toContain('g0 alone')
})

test('a user without the right, a scope without the path, and a wrong question get nothing (22.4)', async () => {
  const auditor = await setup.key({ user: 'auditor' })
  await useStore(auditor)
  const scope = { rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }] }
  const [other, scoped] = await Promise.all([
    setup.key({ user: 'bob' }),
    setup.key({ user: 'auditor', scope }),
  ])
  const [ofOther, ofScoped, wrong] = await Promise.all([
    setup.ask(other.token, '/audit/events'),
    setup.ask(scoped.token, '/audit/events'),
    setup.ask(auditor.token, '/audit/events?usr=ada&limit=5000'),
  ])
  expect([ofOther.code, ofScoped.code, wrong.code]).toEqual([403, 403, 400])
  expect(ofOther.body).toContain('RBAC does not grant this user get on the path /audit/events')
  expect(wrong.body).toMatch(/\\"usr\\" is not a filter, did you mean user\?.*limit is/)
})

test('pages have each event once, whatever is written meanwhile (22.4)', async () => {
  const [auditor, ada] = await Promise.all([
    setup.key({ user: 'auditor' }),
    setup.key({ user: 'ada' }),
  ])
  await useStore(auditor)
  const read = async () =>
    String((await setup.ask(ada.token, '/api/v1/namespaces')).headers['audit-id'])
  const before = await Promise.all(Array.from({ length: 25 }, read))
  const filters = `key=${ada.object.metadata.name}&resource=namespaces`
  const all = async () => {
    const { items } = await events(auditor, `${filters}&limit=1000`)
    return items.length === before.length || undefined
  }
  await eventually('all are stored', all, SOON)
  const seen: string[] = []
  let token: string | undefined
  do {
    const page = await events(auditor, `${filters}&limit=10${token ? `&continue=${token}` : ''}`)
    seen.push(...page.items.map(({ auditID }) => auditID))
    token = page.metadata.continue
    await read()
  } while (token !== undefined)
  expect(seen.toSorted()).toEqual(before.toSorted())
})

test('a store that is taken out of the Config is not asked any more, nor filled (6.8, 22.3)', async () => {
  const auditor = await setup.key({ user: 'auditor' })
  await useStore(auditor)
  await settings.declare({ audit })
  const isGone = async () =>
    (await setup.ask(auditor.token, '/audit/events')).code === 404 || undefined
  await eventually('there is no data store', isGone, SOON)
  expect(await handedOver()).toEqual({})
  expect(existsSync(database)).toBe(true)
})

test('an endpoint with a password is in the Secret of the gateway, and nowhere else (6.8)', async () => {
  const auditor = await setup.key({ user: 'auditor' })
  const endpoint = 'postgres://audit:canary-Kx9q@127.0.0.1:1/audit'
  await settings.secret(`audit: {dataStoreEndpoint: "${endpoint}"}`)
  await settings.declare({ audit })
  const isAsked = async () =>
    (await setup.ask(auditor.token, '/audit/events')).code === 503 || undefined
  await eventually('the gateway has the endpoint, at which nobody listens', isAsked, SOON)
  expect(await handedOver()).toEqual({ audit: { dataStoreEndpoint: endpoint } })
  const objects = await mustKubectl(plane, ['get', 'config,configmaps,events', '-A', '-o', 'yaml'])
  expect(objects).not.toContain('canary-Kx9q')
  const output = () =>
    JSON.stringify([setup.operator, ...setup.gateways].map((one) => one.output()))
  const isSaid = () =>
    output().includes('the data store of the audit log cannot be used') || undefined
  await eventually('the gateway says why', isSaid, SOON)
  expect(output()).not.toContain('canary-Kx9q')
  expect(readFileSync(join(folder, 'g0', 'audit.log'), 'utf8')).not.toContain('canary-Kx9q')
})
