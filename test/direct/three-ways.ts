// The three ways to a connected cluster: through the gateway with an access key, through the direct endpoint with a
// token, and to the stock API server itself with the same token. Answers are reduced to what must be the same.
import { randomBytes } from 'node:crypto'
import { Agent, request as send } from 'node:https'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { DirectClusterEndpointToken } from '../../src/api/directclusterendpointtoken.gen.ts'
import { ACCESS_KEYS, API_VERSION, TARGET_LABEL, TOKENS } from '../../src/api/names.ts'
import type { OwnedAccessKey } from '../../src/api/ownedaccesskey.gen.ts'
import type { Scope } from '../../src/api/scope.gen.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { eventually } from '../support/eventually.ts'
import { newKey, uniqueName } from '../support/object-builder.ts'
import { CLUSTER, type DirectCluster, startDirectCluster } from './direct-cluster.ts'
import { WORLD } from './three-ways-world.ts'
import { type Asked, askedOf } from './three-ways-requests.ts'
import { type Seen, seenOf } from './three-ways-answers.ts'
import { startTokenPlatform } from './token-platform.ts'

/** A key, and a token of it: the same identity with the same scope. */
export interface Credentials {
  readonly key: string
  readonly token: string
}

/** What each way answered. */
export interface Answers {
  readonly gateway: Seen
  readonly direct: Seen
  readonly stock: Seen
}

/** The ways, with credentials for them. */
export interface ThreeWays {
  readonly cluster: DirectCluster
  /**
   * New credentials of user ada in group dev; null = the API server refuses the scope.
   *
   * @param owner of the token: the key itself, or a key without a scope
   */
  credentials(scope: Scope | null, owner?: 'itself' | 'unscoped'): Promise<Credentials | null>
  /** Sends a request by the three ways at once. */
  answers(credentials: Credentials, asked: Asked): Promise<Answers>
}

const SOON = { withinMs: 60_000 }
const ROOT = join(import.meta.dirname, '../..')

/** Starts them; call it while the test file loads. */
export async function startThreeWays(): Promise<ThreeWays> {
  const platform = await startTokenPlatform()
  const cluster = await startDirectCluster(platform)
  const { plane, gatewayUrl, caPem } = platform
  const [endpoint, unscoped] = await Promise.all([
    cluster.startEndpoint(),
    plane.admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey(ADA), 'test'),
    cluster.apply(WORLD),
    connectCluster(plane, cluster),
  ])
  await cluster.openWebhook(endpoint)
  const ways = {
    gateway: createWay(`${gatewayUrl}/kubernetes/cluster/${CLUSTER}`, caPem),
    direct: createWay(`${endpoint.process.url()}/kubernetes/cluster`, endpoint.caPem),
    stock: createWay(cluster.server.url, cluster.server.caPem),
  }
  const answers: ThreeWays['answers'] = async ({ key, token }, asked) => {
    const [gateway, direct, stock] = await Promise.all([
      ways.gateway(key, asked),
      ways.direct(token, asked),
      ways.stock(token, asked),
    ])
    return { gateway, direct, stock }
  }
  return {
    cluster,
    answers,
    credentials: async (scope, owner = 'itself') => {
      const key = `pak_${randomBytes(24).toString('hex')}`
      const sent = newKey({ ...ADA, key, ...(scope === null ? {} : { scope }) })
      const { code, body } = await plane.raw<OwnedAccessKey>('POST', KEYS_PATH, sent)
      if (code === 422) return null
      if (code !== 201) throw new Error(`POST ${KEYS_PATH}: ${code} ${JSON.stringify(body)}`)
      const token = await issue(
        plane.admin,
        owner === 'itself' ? body : unscoped,
        owner === 'itself' ? null : scope,
      )
      const made = { key, token }
      const isKnown = async () => {
        const seen = await answers(made, askedOf('GET /version'))
        // 404: the gateway does not know the cluster yet.
        const isTaken = ({ code: answered }: Seen) => answered === 200 || answered === 403
        return (isTaken(seen.gateway) && (isElsewhere(scope) || isTaken(seen.stock))) || undefined
      }
      await eventually('the credentials are known', isKnown, SOON)
      return made
    },
  }
}

/** Whether the token of the scope is for other clusters by its audience (contract 7.1): it is 401 in this one. */
export const isElsewhere = (scope: Scope | null): boolean => {
  const names = scope?.clusters?.map(({ cluster }) => cluster) ?? []
  return names.length > 0 && !names.includes(CLUSTER) && !names.includes('*')
}

const ADA = { user: 'ada', groups: ['dev'] }
const KEYS_PATH = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}`

type Platform = Awaited<ReturnType<typeof startTokenPlatform>>

async function issue(
  admin: Platform['plane']['admin'],
  { metadata: { name: ownerName, uid } }: OwnedAccessKey,
  scope: Scope | null,
): Promise<string> {
  const reference = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name: ownerName, uid }
  const name = uniqueName('token')
  const object = {
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: { name, ownerReferences: [{ ...reference, controller: true }] },
    spec: { ttl: 3600, ...(scope === null ? {} : { scope }) },
  }
  await admin.create(TOKENS, object, 'test')
  const issued = async () =>
    (await admin.get<DirectClusterEndpointToken>(TOKENS, { name }))?.status?.token || undefined
  return eventually('the token is issued', issued, SOON)
}

/** Makes the cluster a target of the gateway, by the account of config/target. */
async function connectCluster(plane: Platform['plane'], { server }: DirectCluster): Promise<void> {
  await mustKubectl(server, ['apply', '--server-side', '-k', join(ROOT, 'config/target')])
  const account = ['create', 'token', 'gateway', '-n', 'platform-gateway', '--duration=24h']
  const token = (await mustKubectl(server, account)).trim()
  const ca = Buffer.from(server.caPem).toString('base64')
  const kubeconfig = JSON.stringify({
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server: server.url, 'certificate-authority-data': ca } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    users: [{ name: 'it', user: { token } }],
  })
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: CLUSTER,
      namespace: 'platform-system-targets',
      labels: { [TARGET_LABEL]: 'cluster' },
    },
    stringData: { name: CLUSTER, kubeconfig },
  }
  await mustKubectl(plane, ['apply', '-f', '-'], { input: JSON.stringify(secret) })
}

type Way = (bearer: string, asked: Asked) => Promise<Seen>

/** Sends the bytes of a request as they are written, below the URL. */
function createWay(url: string, ca: string): Way {
  const { hostname, port, pathname } = new URL(url)
  const agent = new Agent({ keepAlive: true, ca, maxSockets: 16 })
  afterAll(() => agent.destroy())
  const prefix = pathname === '/' ? '' : pathname
  return (bearer, { method, path, headers, body }) =>
    new Promise((resolve) => {
      const broken = ({ message }: Error) => resolve({ code: 0, by: message, what: '' })
      const outgoing = send({
        hostname,
        port,
        ca,
        method,
        path: `${prefix}${path}`,
        headers: {
          ...headers,
          authorization: `Bearer ${bearer}`,
          ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }),
        },
        agent: headers['upgrade'] === undefined ? agent : false,
      })
      // After its answer too: Go's server sends a body even to a HEAD that it can't read.
      outgoing.on('error', broken)
      outgoing.once('upgrade', ({ statusCode = 0 }, socket) => {
        socket.destroy()
        resolve(seenOf(statusCode, ''))
      })
      outgoing.once('response', (incoming) => {
        const { statusCode = 0 } = incoming
        incoming.on('error', broken)
        // A watch stays open.
        if (statusCode === 200 && /[?&]watch/i.test(path)) {
          resolve(seenOf(statusCode, ''))
          outgoing.destroy()
          return
        }
        let text = ''
        incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
        incoming.once('end', () => resolve(seenOf(statusCode, text)))
      })
      outgoing.end(body ?? undefined)
    })
}
