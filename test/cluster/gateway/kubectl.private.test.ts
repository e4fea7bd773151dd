// kubectl, client-node and plain requests work through the gateway as against the API server (contract 9.4).
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { HEARTBEAT_NAME } from '../../../src/api/names.ts'
import { startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { gatewayClientOf } from './timed-requests.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'
import { heartbeatOf } from './in-process-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const NAMESPACE = 'shop'

await setup.plane.raw('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
await setup.plane.raw(
  'POST',
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
  {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'platform:user:ada' }],
  },
)
const ada = await setup.key()
const reader = await setup.key({
  scope: {
    rules: [
      {
        verbs: ['get', 'list', 'watch'],
        namespaces: [NAMESPACE],
        resources: [{ resources: ['configmaps'] }],
      },
    ],
  },
})

/** The standard output of kubectl with this key. @throws Error when it fails */
async function kubectl(key: UsableKey, line: string, input?: string): Promise<string> {
  const args = [...line.split(' '), '--namespace', NAMESPACE]
  const { code, stdout, stderr } = await setup.kubectl(
    key,
    args,
    input === undefined ? {} : { input },
  )
  if (code !== 0) throw new Error(`kubectl ${line}: ${stderr}`)
  return stdout
}

/** The standard error of kubectl, which must fail. */
async function refusalOf(key: UsableKey, line: string, input?: string): Promise<string> {
  const args = [...line.split(' '), '--namespace', NAMESPACE]
  const { code, stderr } = await setup.kubectl(key, args, input === undefined ? {} : { input })
  expect(code).not.toBe(0)
  return stderr
}

const configMap = (name: string, data: Readonly<Record<string, string>>): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })

// Concurrently, each with objects of its own: kubectl waits for answers most of its time.
describe.concurrent('kubectl works through the gateway (9.4)', () => {
  test('auth whoami shows the identity of the key (10.5)', async () => {
    const review = JSON.parse(await kubectl(ada, 'auth whoami -o json')) as {
      readonly status: { readonly userInfo: Readonly<Record<string, unknown>> }
    }
    expect(review.status.userInfo).toEqual({
      username: 'ada',
      groups: ['platform:authenticated', 'platform:user:ada', 'system:authenticated'],
      extra: { 'platform.sh/access-key': [ada.object.metadata.name] },
    })
  })

  test.each([
    { line: 'version', output: 'Server Version: v1.' },
    { line: 'api-resources', output: 'ownedaccesskeys' },
    { line: 'api-versions', output: 'management.platform.sh/v1' },
    { line: 'explain configmap', output: 'ConfigMap holds configuration data' },
    { line: 'explain oak.spec.ttl', output: 'seconds' },
    { line: 'cluster-info', output: 'Kubernetes control plane' },
    { line: 'auth can-i create configmaps', output: 'yes' },
    { line: 'get --raw /healthz', output: 'ok' },
    { line: 'get --raw /openapi/v2', output: 'swagger' },
  ])('kubectl $line', async ({ line, output }) => {
    expect(await kubectl(ada, line)).toContain(output)
  })

  test('create, get, describe, label, annotate, patch and delete', async () => {
    await kubectl(ada, 'create configmap life --from-literal=a=1')
    expect(await kubectl(ada, 'get configmap life')).toMatch(/^NAME +DATA +AGE\nlife +1 /)
    await kubectl(ada, 'patch configmap life --type=merge -p {"data":{"b":"2"}}')
    await kubectl(ada, 'patch configmap life --type=json -p [{"op":"remove","path":"/data/a"}]')
    await kubectl(ada, 'patch configmap life -p {"data":{"c":"3"}}')
    await kubectl(ada, 'label configmap life team=a')
    await kubectl(ada, 'annotate configmap life note=x')
    const description = await kubectl(ada, 'describe configmap life')
    for (const part of ['team=a', 'note: x', 'b:', 'c:']) expect(description).toContain(part)
    expect(description).not.toContain('a:\n')
    const data = await kubectl(ada, 'get configmap life -o jsonpath={.data}')
    expect(JSON.parse(data)).toEqual({ b: '2', c: '3' })
    expect(await kubectl(ada, 'get configmap -l team=a -o name')).toBe('configmap/life\n')
    expect(await kubectl(ada, 'delete configmap life')).toContain('deleted')
    expect(await refusalOf(ada, 'get configmap life')).toContain('NotFound')
  })

  test('apply, client side and server side, diff, and replace', async () => {
    expect(await kubectl(ada, 'apply -f -', configMap('applied', { a: '1' }))).toContain('created')
    const changed = configMap('applied', { a: '2' })
    const { code, stdout } = await setup.kubectl(ada, ['diff', '-n', NAMESPACE, '-f', '-'], {
      input: changed,
    })
    expect(code).toBe(1)
    expect(stdout).toContain('+  a: "2"')
    expect(await kubectl(ada, 'apply -f -', changed)).toContain('configured')
    expect(await kubectl(ada, 'apply -f -', changed)).toContain('unchanged')
    const applied = 'apply --server-side --field-manager=ci -f -'
    expect(await kubectl(ada, applied, configMap('ssa', { a: '1' }))).toContain(
      'serverside-applied',
    )
    expect(
      await kubectl(ada, `${applied} --dry-run=server`, configMap('ssa', { a: '3' })),
    ).toContain('dry run')
    expect(await kubectl(ada, 'get configmap ssa -o jsonpath={.data.a}')).toBe('1')
    await kubectl(ada, 'replace -f -', configMap('ssa', { z: '1' }))
    expect(await kubectl(ada, 'get configmap ssa -o jsonpath={.data}')).toBe('{"z":"1"}')
  })

  test('wait, which watches', async () => {
    await kubectl(ada, 'create configmap awaited')
    const waiting = kubectl(
      ada,
      'wait configmap/awaited --for=jsonpath={.data.done}=yes --timeout=30s',
    )
    const deleted = kubectl(ada, 'wait configmap/awaited --for=delete --timeout=30s')
    await kubectl(ada, 'patch configmap awaited --type=merge -p {"data":{"done":"yes"}}')
    expect(await waiting).toContain('condition met')
    await kubectl(ada, 'delete configmap awaited')
    await deleted
  })

  test('get in pages, and a compressed list', async () => {
    const many = Array.from(
      { length: 60 },
      (_, at) => JSON.parse(configMap(`page-${at}`, { x: 'y'.repeat(2000) })) as object,
    )
    await kubectl(
      ada,
      'create -f -',
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: many }),
    )
    const names = await kubectl(ada, 'get configmaps -o name --chunk-size=7')
    expect(names.split('\n').filter((name) => name.startsWith('configmap/page-'))).toHaveLength(60)
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
    const { headers } = await setup.ask(ada.token, path, { headers: { 'accept-encoding': 'gzip' } })
    expect(headers['content-encoding']).toBe('gzip')
  })

  test('RBAC refuses what the user of the key may not', async () => {
    expect(await refusalOf(ada, 'get nodes')).toContain('User "ada" cannot list resource "nodes"')
  })
})

describe.concurrent('kubectl with a scoped key (11.1)', () => {
  test.each([
    { line: 'get configmaps', output: 'NAME' },
    { line: 'auth whoami', output: 'ada' },
    { line: 'api-resources', output: 'configmaps' },
    { line: 'explain pods', output: 'Pod' },
    { line: 'auth can-i list configmaps', output: 'yes' },
  ])('kubectl $line is granted', async ({ line, output }) => {
    expect(await kubectl(reader, line)).toContain(output)
  })

  test.each([
    { line: 'get secrets', denied: '"list" on "secrets" in namespace "shop"' },
    { line: 'get configmaps --all-namespaces', denied: '"list" on "configmaps"' },
    { line: 'create configmap x', denied: '"create" on "configmaps"' },
    { line: 'delete configmap x', denied: '"delete" on "configmaps" "x"' },
    { line: 'get oak', denied: '"list" on "ownedaccesskeys.management.platform.sh"' },
  ])(
    'kubectl $line is refused, and the message names the missing grant',
    async ({ line, denied }) => {
      expect(await refusalOf(reader, line)).toContain(`the scope does not grant ${denied}`)
    },
  )

  test('auth can-i answers no with the reason for a request outside the scope (11.3)', async () => {
    const { code, stdout } = await setup.kubectl(reader, [
      'auth',
      'can-i',
      'get',
      'secrets',
      '-n',
      NAMESPACE,
    ])
    expect(code).toBe(1)
    expect(stdout).toContain('no - the scope does not grant "get" on "secrets"')
  })
})

test("client-node's informer works through the gateway (9.4)", async () => {
  const config = new KubeConfig()
  config.loadFromFile(ada.kubeconfig)
  const cluster = config.getCurrentCluster()
  config.loadFromOptions({
    clusters: [cluster],
    users: [{ name: 'ada', token: ada.token }],
    contexts: [{ name: 'c', cluster: cluster?.name, user: 'ada' }],
    currentContext: 'c',
  })
  const api = config.makeApiClient(CoreV1Api)
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
  const informer = makeInformer(config, path, () =>
    api.listNamespacedConfigMap({ namespace: NAMESPACE }),
  )
  const events: string[] = []
  for (const what of ['add', 'update', 'delete'] as const) {
    informer.on(what, ({ metadata }) => void (metadata?.name === 'informed' && events.push(what)))
  }
  await informer.start()
  try {
    const untilEvents = (count: number) =>
      eventually(
        `the informer has ${count} events`,
        () => events.length >= count || undefined,
        SOON,
      )
    await kubectl(ada, 'create configmap informed')
    await untilEvents(1)
    await kubectl(ada, 'label configmap informed a=b')
    await untilEvents(2)
    await kubectl(ada, 'delete configmap informed')
    await untilEvents(3)
    expect(events).toEqual(['add', 'update', 'delete'])
  } finally {
    await informer.stop()
  }
})

describe('every answer has a header with the end of the key (13.5)', () => {
  const OURS = '/apis/management.platform.sh/v1/ownedaccesskeys'
  const json = { 'content-type': 'application/json' }
  const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
  const large = JSON.stringify({ metadata: { annotations: { a: 'a'.repeat(65_536) } } })
  const move = JSON.stringify([{ op: 'move', from: '/spec/key', path: '/metadata/labels/a' }])
  const jsonPatch = { 'content-type': 'application/json-patch+json' }
  const ending = setup.key({ ttl: 600 })

  test.each<{ path: string; code: number } & Partial<Parameters<typeof setup.ask>[2]>>([
    { code: 200, path: '/version' },
    { code: 400, path: '/api/v1/%00' },
    { code: 400, path: '/version', headers: { 'impersonate-user': 'root' } },
    { code: 403, path: '/api/v1/secrets' },
    { code: 404, path: 'nowhere' },
    { code: 404, path: `${OURS}/platform-heartbeat` },
    { code: 405, path: '/version', method: 'PURGE' },
    { code: 406, path: OURS, headers: { accept: 'text/plain' } },
    { code: 413, path: OURS, method: 'POST', headers: json, body: large },
    { code: 415, path: OURS, method: 'POST', headers: { 'content-type': 'text/plain' } },
    { code: 422, path: `${OURS}/NAME`, method: 'PATCH', headers: jsonPatch, body: move },
    { code: 501, path: '/api/v1/namespaces/shop/pods/a', headers: upgrade },
  ])('$code to $path', async ({ code, path, ...options }) => {
    const { token, object } = await ending
    const asked = path.replace('NAME', object.metadata.name)
    const { headers, ...answer } = await setup.ask(token, asked, options)
    expect(answer.code).toBe(code)
    expect(headers['x-platform-key-expires']).toBe(object.status.expirationTimestamp)
    expect(headers['warning']).toBeUndefined()
    const { headers: anonymous, code: refused } = await setup.ask(null, asked, options)
    expect({ refused, end: anonymous['x-platform-key-expires'] }).toEqual({ refused: 401 })
  })
})

test('a gateway that stops first records pending uses (14.1, 8.3)', async () => {
  const token = uniqueName('k'.repeat(32))
  const slides = { key: token, ttl: 3600, ttlAfterLastActivity: true }
  const key = await setup.keys.shown(await setup.keys.create(slides), 'Active')
  const gateway = await setup.anotherGateway()
  const client = gatewayClientOf(setup, gateway)
  await eventually(
    'the gateway accepts the key',
    async () => (await client.ask(token, '/version')).code === 200 || undefined,
    SOON,
  )
  client.close()
  // A running gateway records a use within half a minute.
  expect((await setup.keys.read(key))?.status.lastActivity).toBeUndefined()
  expect(await gateway.stop()).toEqual({ code: 0, signal: null })
  expect((await setup.keys.read(key))?.status.lastActivity).toEqual(expect.any(String))
})

test('the path /config lists the Configs (9.3)', async () => {
  const path = '/apis/management.platform.sh/v1/config'
  const { code, body } = await setup.ask(ada.token, path)
  expect(code).toBe(200)
  expect(JSON.parse(body)).toMatchObject({
    kind: 'ConfigList',
    items: [{ metadata: { name: 'platform-manager-config' } }],
  })
})

// The last test: it ends the keys and processes of the others.
test('kubectl wait oak --all succeeds for the heartbeat key, under any cap and after a restart (10.4)', async () => {
  const { plane, keys, operator, gateways } = setup
  const waitForAll = async (): Promise<string> => {
    const ready = ['--for=condition=Ready', '--timeout=20s']
    const { stdout, stderr } = await plane.kubectl(['wait', 'oak', '--all', ...ready])
    return `${stdout}${stderr}`
  }
  const isMet = `ownedaccesskey.management.platform.sh/${HEARTBEAT_NAME} condition met\n`
  const capped = await keys.shown(await keys.create({ user: 'ada' }), 'Active')
  await settingsOf(plane).declare({ auth: { accessKeyMaxTTLSeconds: 1 } })
  await keys.shown(capped, 'Expired')
  await plane.kubectl(['delete', 'oak', `--field-selector=metadata.name!=${HEARTBEAT_NAME}`])
  const before = await keys.read(HEARTBEAT_NAME)
  expect(await waitForAll()).toBe(isMet)

  await Promise.all([operator, ...gateways].map((one) => one.stop()))
  await using restarted = new AsyncDisposableStack()
  restarted.use(await startOperator({ kubeconfig: await plane.operatorKubeconfig() }))
  restarted.use(await setup.anotherGateway())
  const hasNewHeartbeat = (now: typeof capped) =>
    before !== null && heartbeatOf(now) !== heartbeatOf(before)
  const after = await keys.until(HEARTBEAT_NAME, 'gets a heartbeat', hasNewHeartbeat)
  expect(after.metadata.uid).toBe(before?.metadata.uid)
  expect(await waitForAll()).toBe(isMet)
})
