// A connected cluster with the direct endpoint, which is also the webhook of its stock API server, for one test file.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { GATEWAY_TLS_SECRET } from '../../src/api/names.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  type Credential,
  kubeconfig as kubeconfigOf,
} from '../../tools/control-plane/kubeconfig.ts'
import { adaptedAuthentication } from '../../tools/run/connected-cluster.ts'
import { type Audit, auditOf } from '../support/audit-log.ts'
import type { ServingOptions } from '../support/command-process.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AskOptions,
  type GatewayAnswer,
  type OwnGateway,
  ask,
  startDirect,
} from '../support/gateway-process.ts'
import { uniqueName } from '../support/object-builder.ts'
import { type Raw, createRaw } from '../support/raw-client.ts'
import { type StockServer, startStockServer } from '../support/stock-api-server.ts'
import { shippedFile } from './authentication-file.ts'
import type { IssuerEndpoint } from './issuer-servers.ts'

/** The name of the cluster. */
export const CLUSTER = 'berlin'

/** The namespace of the direct endpoint. */
const NAMESPACE = 'platform-system'

/** Whom the API server knows the direct endpoint as. */
export const DIRECT_USER = `system:serviceaccount:${NAMESPACE}:direct`

const ROOT = join(import.meta.dirname, '../..')

/** The direct endpoint of the cluster. */
export interface DirectEndpoint {
  readonly process: OwnGateway
  /** The CA of its certificate; PEM. */
  readonly caPem: string
  /** One request with a bearer token; null = without. */
  call(path: string, token: string | null, options?: Partial<AskOptions>): Promise<GatewayAnswer>
  /** Writes a kubeconfig with a token for a path of the endpoint, and returns its own path. */
  kubeconfig(token: string, path?: string): Promise<string>
}

/** How the API server reaches the webhook. */
interface WebhookOptions {
  /** As in the authorization file: `Deny` when absent. */
  readonly failurePolicy?: 'Deny' | 'NoOpinion'
  /** The webhook's token when absent. */
  readonly credential?: Credential
}

/** A cluster with a direct endpoint. */
export interface DirectCluster {
  readonly server: StockServer
  /** Requests as an administrator of the cluster. */
  readonly raw: Raw
  /** The audit log of the API server. */
  readonly audit: Audit
  /**
   * Starts a direct endpoint of the cluster; stopped after the last test of the file.
   *
   * @param options as those of startDirect
   */
  startEndpoint(
    flags?: readonly string[],
    options?: Pick<ServingOptions, 'env' | 'until'>,
  ): Promise<DirectEndpoint>
  /** Lets the API server ask the endpoint before RBAC. Resolves when it does. */
  openWebhook(
    endpoint: Pick<DirectEndpoint, 'process' | 'caPem'>,
    options?: WebhookOptions,
  ): Promise<void>
  /** The file with the token of the webhook's callers, which is `webhookToken` until a test changes it. */
  readonly webhookTokenFile: string
  readonly webhookToken: string
  /** Applies objects as an administrator of the cluster. */
  apply(objects: readonly object[]): Promise<void>
}

/** RBAC without a webhook: the file that openWebhook replaces. */
const WITHOUT_WEBHOOK = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`

/** Starts the cluster with the shipped manifests; call it while the test file loads. @param issuer of its tokens */
export async function startDirectCluster(issuer: IssuerEndpoint): Promise<DirectCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'direct-'))
  afterAll(() => rm(folder, { recursive: true }))
  const particulars = { ...issuer, cluster: CLUSTER }
  const server = await startStockServer(
    adaptedAuthentication(shippedFile('authentication-with-webhook'), particulars),
    { authorization: WITHOUT_WEBHOOK, audit: true },
  )
  const apply = async (args: readonly string[], input?: string): Promise<void> => {
    const { code, stderr } = await server.kubectl(
      ['apply', '--server-side', ...args],
      input === undefined ? {} : { input },
    )
    if (code !== 0) throw new Error(`kubectl apply: ${stderr}`)
  }
  // The namespaces first: nothing else waits for them here.
  const namespaces = ['direct/namespace.yaml', 'direct/target-namespace/namespace.yaml']
  await apply(namespaces.flatMap((part) => ['-f', join(ROOT, 'config', part)]))
  await Promise.all(
    ['direct', 'direct/target-namespace'].map((part) => apply(['-k', join(ROOT, 'config', part)])),
  )
  const kubeconfig = await server.serviceAccountKubeconfig(NAMESPACE, 'direct')
  const caFile = join(folder, 'issuer-ca.pem')
  const webhookTokenFile = join(folder, 'webhook-token')
  const webhookToken = uniqueName('w'.repeat(32))
  await writeFile(caFile, issuer.caPem)
  await writeFile(webhookTokenFile, `${webhookToken}\n`)
  const raw = createRaw(server.adminKubeconfig, systemClock())
  afterAll(() => raw.close())
  const usual = [
    `--cluster=${CLUSTER}`,
    `--issuer-url=${issuer.issuer}`,
    `--issuer-ca-file=${caFile}`,
    `--webhook-token-file=${webhookTokenFile}`,
    '--revocation-poll-interval=1s',
    '--allow-target-cidr=127.0.0.0/8',
  ]
  const started: OwnGateway[] = []
  afterAll(() => Promise.all(started.map((one) => one.stop())))
  const { auditLog } = server
  if (auditLog === null) throw new Error('the server keeps no audit log')
  return {
    server,
    raw: raw.call,
    audit: auditOf({ auditLog, raw: raw.call }),
    webhookTokenFile,
    webhookToken,
    apply: (objects) =>
      apply(['-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })),
    startEndpoint: async (flags = [], serving = {}) => {
      const process = await startDirect({ kubeconfig, flags: [...usual, ...flags], ...serving })
      started.push(process)
      // Its health is served before anything else.
      await eventually('the endpoint serves', () => process.url(), { withinMs: 30_000 })
      const caPem = await certificateAuthority(server)
      return {
        process,
        caPem,
        call: (path, token, options = {}) => {
          const headers = token === null ? {} : { authorization: `Bearer ${token}` }
          return ask(`${process.url()}${path}`, {
            ca: caPem,
            ...options,
            headers: { ...headers, ...options.headers },
          })
        },
        kubeconfig: async (token, path = '/kubernetes/cluster') => {
          const file = join(folder, `${uniqueName('client')}.kubeconfig`)
          const url = `${process.url()}${path}`
          await writeFile(file, kubeconfigOf('direct', { url, caPem }, { token }))
          return file
        },
      }
    },
    openWebhook: async (endpoint, options = {}) => {
      const { failurePolicy = 'Deny', credential = { token: webhookToken } } = options
      // Under a new name: the server compares the authorization file only.
      const config = join(folder, `${uniqueName('webhook')}.kubeconfig`)
      const url = `${endpoint.process.url()}/authorize`
      await writeFile(config, kubeconfigOf('webhook', { url, caPem: endpoint.caPem }, credential))
      const shipped = await readFile(join(ROOT, 'config/direct/webhook/authorization.yaml'), 'utf8')
      const text = shipped
        .replace('/etc/kubernetes/authorization/kubeconfig.yaml', config)
        .replace('failurePolicy: Deny', `failurePolicy: ${failurePolicy}`)
      const before = await loadsOf(server)
      await server.authorize(text)
      const loaded = async () => (await loadsOf(server)) > before || undefined
      await eventually('the server has loaded the authorization file', loaded, {
        withinMs: 90_000,
      })
    },
  }
}

async function certificateAuthority(server: StockServer): Promise<string> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', NAMESPACE]
  const { stdout } = await server.kubectl([...secret, '-o', 'jsonpath={.data.ca\\.crt}'])
  return Buffer.from(stdout, 'base64').toString('utf8')
}

const LOADS =
  /^apiserver_authorization_config_controller_automatic_reloads_total\{.*status="success".*\} (\d+)$/m

/** How often the server has loaded a changed authorization file. */
async function loadsOf(server: StockServer): Promise<number> {
  const { stdout } = await server.kubectl(['get', '--raw', '/metrics'])
  return Number(LOADS.exec(stdout)?.[1] ?? 0)
}
