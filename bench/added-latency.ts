// What the gateway adds to the time of a request: `node bench/added-latency.ts [requests]`, 5000 by each way where none
// are given. One client gets one small object of one control plane by three ways in turn, one request at a time, so that
// whatever disturbs the machine disturbs them alike. Prints p50 and p99 of each, and the ratios to the direct way.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { cpus, loadavg } from 'node:os'
import { ACCESS_KEYS, API_VERSION, GATEWAY_TLS_SECRET, TARGET_LABEL } from '../src/api/names.ts'
import { connect } from '../src/kube/client/connection.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { ISSUER, startOperator } from '../test/support/command-process.ts'
import { eventually } from '../test/support/eventually.ts'
import { type AskOptions, ask, startGateway } from '../test/support/gateway-process.ts'
import {
  GATEWAY_ACCOUNT,
  OPERATOR_ACCOUNT,
  installProduct,
} from '../test/support/installed-control-plane.ts'
import { mustKubectl } from '../test/support/kubectl.ts'
import { type ControlPlane, startControlPlane } from '../tools/control-plane/control-plane.ts'

/** A way to the object, over one kept connection. */
interface Way {
  readonly name: string
  readonly url: string
  readonly options: AskOptions
  readonly tookMs: number[]
}

type Account = Readonly<Record<'namespace' | 'name', string>>

const OBJECT = '/api/v1/namespaces/default/configmaps/small'
const WARM_UP = 1000
const SOON = { withinMs: 30_000 }
const USER = 'ada'
const KEY = `pak_${randomBytes(24).toString('hex')}`
const CLUSTER = 'own'

async function main(requests: number): Promise<void> {
  const plane = await startControlPlane({ log: console.error })
  try {
    await compare(plane, requests)
  } finally {
    await plane.stop()
  }
}

async function compare(plane: ControlPlane, requests: number): Promise<void> {
  await installProduct(plane)
  const flags = [`--issuer-url=${ISSUER}`]
  await using _ = await startOperator({
    kubeconfig: await accountOf(plane, OPERATOR_ACCOUNT),
    flags,
  })
  await using gateway = await startGateway({
    kubeconfig: await accountOf(plane, GATEWAY_ACCOUNT),
    flags: [...flags, '--allow-target-cidr=127.0.0.0/8'],
  })
  await createObjects(plane)
  const ways = [
    await directWay(plane),
    ...(await gatewayWays(plane, gateway.url(), ['management', `cluster/${CLUSTER}`])),
  ]
  for (const way of ways) await eventually(`${way.name} answers`, () => answers(way), SOON)
  await measure(ways, WARM_UP)
  for (const { tookMs } of ways) tookMs.length = 0
  await measure(ways, requests)
  print(ways)
  for (const { options } of ways) options.agent?.destroy()
}

const accountOf = (plane: ControlPlane, { namespace, name }: Account): Promise<string> =>
  plane.serviceAccountKubeconfig(namespace, name)

/** The object, a user who may read it, a key of that user, and the control plane as a cluster of its own gateway. */
async function createObjects(plane: ControlPlane): Promise<void> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const token = (await mustKubectl(plane, ['create', 'token', name, '-n', namespace])).trim()
  const ca = readFileSync(plane.caFile).toString('base64')
  const kubeconfig = JSON.stringify({
    'current-context': CLUSTER,
    clusters: [{ name: CLUSTER, cluster: { server: plane.url, 'certificate-authority-data': ca } }],
    contexts: [{ name: CLUSTER, context: { cluster: CLUSTER, user: CLUSTER } }],
    users: [{ name: CLUSTER, user: { token } }],
  })
  const apiGroup = 'rbac.authorization.k8s.io'
  const items = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'small', namespace: 'default' },
      data: { text: 'x'.repeat(1000) },
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name: USER, namespace: 'default' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup, kind: 'User', name: USER }],
    },
    {
      apiVersion: API_VERSION,
      kind: ACCESS_KEYS.kind,
      metadata: { name: USER },
      spec: { user: USER, key: KEY },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: CLUSTER,
        namespace: `${namespace}-targets`,
        labels: { [TARGET_LABEL]: 'cluster' },
      },
      stringData: { name: CLUSTER, kubeconfig },
    },
  ]
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await mustKubectl(plane, ['create', '-f', '-'], { input })
}

/** To the API server, as the user by a client certificate. */
async function directWay(plane: ControlPlane): Promise<Way> {
  const config = await plane.clientKubeconfig({ name: USER, user: USER, groups: [] })
  const connection = await connect({ kind: 'files', paths: [config] }, systemClock())
  const { tls } = await connection.open()
  await connection.close()
  const agent = new Agent({ keepAlive: true, ...(tls as object) })
  const options = { ca: readFileSync(plane.caFile, 'utf8'), agent }
  return { name: 'direct', url: `${plane.url}${OBJECT}`, options, tookMs: [] }
}

/** Through the gateway, with the key of the user. */
async function gatewayWays(
  plane: ControlPlane,
  gateway: string,
  paths: readonly string[],
): Promise<readonly Way[]> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', GATEWAY_ACCOUNT.namespace]
  const encoded = await mustKubectl(plane, [...secret, '-o', 'jsonpath={.data.ca\\.crt}'])
  const ca = Buffer.from(encoded, 'base64').toString()
  const headers = { authorization: `Bearer ${KEY}` }
  return paths.map((path) => ({
    name: `/kubernetes/${path}`,
    url: `${gateway}/kubernetes/${path}${OBJECT}`,
    options: { ca, headers, agent: new Agent({ keepAlive: true, ca }) },
    tookMs: [],
  }))
}

const answers = async ({ url, options }: Way): Promise<true | undefined> =>
  (await ask(url, options)).code === 200 || undefined

/** Each round begins with another way: what a request leaves behind falls on all of them. */
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

/** The smallest value that is not below this share of all. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

function print(ways: readonly Way[]): void {
  const [direct] = ways
  if (!direct) throw new Error('nothing was measured')
  const [{ model } = { model: 'unknown' }, ...others] = cpus()
  const load = loadavg()[0]?.toFixed(1)
  console.log(`${others.length + 1} x ${model}, Node ${process.version}, load ${load}`)
  console.log(`${direct.tookMs.length} requests by each way\n`)
  for (const { name, tookMs } of ways) {
    const figures = [0.5, 0.99].map((share) => {
      const ms = quantile(tookMs, share)
      const ratio = ms / quantile(direct.tookMs, share)
      return `p${share * 100} ${ms.toFixed(2).padStart(7)} ms ${ratio.toFixed(2).padStart(5)}x`
    })
    console.log(`${name.padEnd(24)}${figures.join('   ')}`)
  }
}

await main(Number(process.argv[2] ?? 5000))
