// What gateway, direct endpoint and webhook add to the time of a request: `node bench/added-latency.ts [requests]`, 5000 by
// each way where none are given. One client gets one small object by all ways in turn, one request at a time, so that
// whatever disturbs the machine disturbs them alike. Prints p50 and p99 of each, and the ratios to a client certificate.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:https'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ACCESS_KEYS, API_VERSION, TARGET_LABEL, TOKENS } from '../src/api/names.ts'
import { connect } from '../src/kube/client/connection.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { eventually } from '../test/support/eventually.ts'
import { type AskOptions, ask } from '../test/support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../test/support/installed-control-plane.ts'
import { mustKubectl } from '../test/support/kubectl.ts'
import { type ControlPlane, startControlPlane } from '../tools/control-plane/control-plane.ts'
import { type ConnectedCluster, startConnectedCluster } from './connected-cluster.ts'
import { quantile } from './measure/rounds.ts'
import { type RunningProduct, startProduct } from './product.ts'

/** A way to the object, over one kept connection. */
interface Way {
  readonly name: string
  readonly url: string
  readonly options: AskOptions
  readonly tookMs: number[]
}

const OBJECT = '/api/v1/namespaces/default/configmaps/small'
const WARM_UP = 1000
const SOON = { withinMs: 120_000 }
const USER = 'ada'
const KEY = `pak_${randomBytes(24).toString('hex')}`
const CLUSTER = 'east'
const RBAC = 'rbac.authorization.k8s.io'

async function main(requests: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latency-'))
  const plane = await startControlPlane({ log: console.error })
  try {
    await compare(plane, folder, requests)
  } finally {
    await plane.stop()
    await rm(folder, { recursive: true })
  }
}

async function compare(plane: ControlPlane, folder: string, requests: number): Promise<void> {
  const product = await startProduct(plane)
  try {
    await compareWays(plane, product, folder, requests)
  } finally {
    await product.stop()
  }
}

async function compareWays(
  plane: ControlPlane,
  { issuer, caPem, gateway }: RunningProduct,
  folder: string,
  requests: number,
): Promise<void> {
  const connected = await startConnectedCluster({ issuer, cluster: CLUSTER, caPem }, folder)
  try {
    const token = await createObjects(plane, connected)
    const certificate = await certificateWay(connected.plane)
    const ofKey = ['management', `cluster/${CLUSTER}`].map((path) =>
      bearerWay(`/kubernetes/${path}`, `${gateway.url()}/kubernetes/${path}`, caPem, KEY),
    )
    const endpoint = `${connected.endpoint.url()}/kubernetes/cluster`
    const ofToken = [
      bearerWay('direct endpoint', endpoint, connected.caPem, token),
      bearerWay('API server, token', connected.plane.url, caOf(connected.plane), token),
    ]
    await measured('RBAC alone', [certificate, ...ofKey, ...ofToken], requests)
    await connected.openWebhook()
    await measured('webhook before RBAC', [certificate, ...ofToken], requests)
    for (const { options } of [certificate, ...ofKey, ...ofToken]) options.agent?.destroy()
  } finally {
    await connected.stop()
  }
}

/** Measures the ways in turn, after requests that are not counted, and prints the figures. */
async function measured(what: string, ways: readonly Way[], requests: number): Promise<void> {
  for (const way of ways) await eventually(`${way.name} answers`, () => answers(way), SOON)
  await measure(ways, WARM_UP)
  for (const { tookMs } of ways) tookMs.length = 0
  await measure(ways, requests)
  print(what, ways)
}

const caOf = ({ caFile }: ControlPlane): string => readFileSync(caFile, 'utf8')

/** The object in both clusters, for groups of the user; a key, a target, and a token, which is returned. */
async function createObjects(
  plane: ControlPlane,
  { plane: other, gatewayToken }: ConnectedCluster,
): Promise<string> {
  const create = (to: ControlPlane, ...items: readonly object[]) =>
    mustKubectl(to, ['create', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    })
  await create(other, ...READABLE)
  const kubeconfig = JSON.stringify({
    'current-context': CLUSTER,
    clusters: [
      {
        name: CLUSTER,
        cluster: {
          server: other.url,
          'certificate-authority-data': Buffer.from(caOf(other)).toString('base64'),
        },
      },
    ],
    contexts: [{ name: CLUSTER, context: { cluster: CLUSTER, user: CLUSTER } }],
    users: [{ name: CLUSTER, user: { token: gatewayToken } }],
  })
  const ours = { apiVersion: API_VERSION, metadata: { name: USER } }
  await create(
    plane,
    ...READABLE,
    { ...ours, kind: ACCESS_KEYS.kind, spec: { user: USER, key: KEY } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: CLUSTER,
        namespace: `${GATEWAY_ACCOUNT.namespace}-targets`,
        labels: { [TARGET_LABEL]: 'cluster' },
      },
      stringData: { name: CLUSTER, kubeconfig },
    },
  )
  const get = (resource: string, path: string) =>
    mustKubectl(plane, [
      'get',
      `${resource}.management.platform.sh`,
      USER,
      '-o',
      `jsonpath=${path}`,
    ])
  const uid = await get(ACCESS_KEYS.plural, '{.metadata.uid}')
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name: USER, uid }
  await create(plane, {
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: { name: USER, ownerReferences: [{ ...owner, controller: true }] },
    spec: { ttl: 3600 },
  })
  const issued = async () => (await get(TOKENS.plural, '{.status.token}')) || undefined
  return eventually('the token is issued', issued, SOON)
}

/** The object, and a group that may read it: the gateway and tokens give it to the user. */
const READABLE: readonly object[] = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'small', namespace: 'default' },
    data: { text: 'x'.repeat(1000) },
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: USER, namespace: 'default' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
  },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: USER, namespace: 'default' },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: USER },
    subjects: [{ apiGroup: RBAC, kind: 'Group', name: `platform:user:${USER}` }],
  },
]

/** The way to the API server of the connected cluster, with a client certificate of the user. */
async function certificateWay(plane: ControlPlane): Promise<Way> {
  const groups = [`platform:user:${USER}`]
  const config = await plane.clientKubeconfig({ name: USER, user: USER, groups })
  const connection = await connect({ kind: 'files', paths: [config] }, systemClock())
  const { tls } = await connection.open()
  await connection.close()
  const agent = new Agent({ keepAlive: true, ...(tls as object) })
  const options = { ca: caOf(plane), agent }
  return { name: 'API server, certificate', url: `${plane.url}${OBJECT}`, options, tookMs: [] }
}

/** A way with a key or a token as its bearer credential. */
function bearerWay(name: string, url: string, ca: string, bearer: string): Way {
  const headers = { authorization: `Bearer ${bearer}` }
  const agent = new Agent({ keepAlive: true, ca })
  return { name, url: `${url}${OBJECT}`, options: { ca, headers, agent }, tookMs: [] }
}

const answers = async ({ url, options }: Way): Promise<true | undefined> =>
  (await ask(url, options)).code === 200 || undefined

/** Each round begins with another way, so that what a request leaves behind affects all ways alike. */
async function measure(ways: readonly Way[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const at of ways.keys()) {
      const way = ways[(round + at) % ways.length]
      if (!way) continue
      const startMs = performance.now()
      const { code } = await ask(way.url, way.options)
      way.tookMs.push(performance.now() - startMs)
      if (code !== 200) throw new Error(`${way.name} is answered ${code}`)
    }
  }
}

function print(what: string, ways: readonly Way[]): void {
  const [direct] = ways
  if (!direct) throw new Error('nothing was measured')
  const [{ model } = { model: 'unknown' }, ...others] = cpus()
  const load = loadavg()[0]?.toFixed(1)
  console.log(`${others.length + 1} x ${model}, Node ${process.version}, load ${load}`)
  console.log(`${what}: ${direct.tookMs.length} requests by each way`)
  for (const { name, tookMs } of ways) {
    const figures = [0.5, 0.99].map((share) => {
      const ms = quantile(tookMs, share)
      const ratio = ms / quantile(direct.tookMs, share)
      return `p${share * 100} ${ms.toFixed(2).padStart(7)} ms ${ratio.toFixed(2).padStart(5)}x`
    })
    console.log(`${name.padEnd(26)}${figures.join('   ')}`)
  }
}

await main(Number(process.argv[2] ?? 5000))
