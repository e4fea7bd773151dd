// The connected cluster of bench/added-latency.ts: a stock API server that accepts tokens, and the direct endpoint.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../test/support/eventually.ts'
import { type OwnGateway, startDirect } from '../test/support/gateway-process.ts'
import { mustKubectl } from '../test/support/kubectl.ts'
import { type ControlPlane, startControlPlane } from '../tools/control-plane/control-plane.ts'
import { type Particulars, adaptedAuthentication } from '../tools/run/connected-cluster.ts'
import { servingCa } from './product.ts'

/** A cluster with its direct endpoint. */
export interface ConnectedCluster {
  readonly plane: ControlPlane
  readonly endpoint: OwnGateway
  /** The CA of the endpoint's certificate; PEM. */
  readonly caPem: string
  /** A token of the account that the gateway has here. */
  readonly gatewayToken: string
  /** Configures the API server to ask the endpoint's webhook before RBAC. Resolves once it asks. */
  openWebhook(): Promise<void>
  stop(): Promise<void>
}

const CONFIG = join(import.meta.dirname, '../config')
const NAMESPACE = 'platform-system'
const WEBHOOK_TOKEN = 'webhook-token-of-the-benchmark'

const WITHOUT_WEBHOOK = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`

/** Starts it for tokens of this issuer. @param folder for its files */
export async function startConnectedCluster(
  issuer: Particulars,
  folder: string,
): Promise<ConnectedCluster> {
  const authentication = join(folder, 'authentication.yaml')
  const authorization = join(folder, 'authorization.yaml')
  const shipped = await readFile(
    join(CONFIG, 'direct-endpoint/authentication-with-webhook.yaml'),
    'utf8',
  )
  await writeFile(authentication, adaptedAuthentication(shipped, issuer))
  await writeFile(authorization, WITHOUT_WEBHOOK)
  const plane = await startControlPlane({
    controllers: 'none',
    apiServerFlags: [
      `--authentication-config=${authentication}`,
      `--authorization-config=${authorization}`,
    ],
    log: console.error,
  })
  try {
    const kubectl = (...args: readonly string[]) => mustKubectl(plane, args)
    for (const file of ['direct/namespace.yaml', 'direct/target-namespace/namespace.yaml'])
      await kubectl('apply', '--server-side', '-f', join(CONFIG, file))
    for (const part of ['direct', 'direct/target-namespace', 'target'])
      await kubectl('apply', '--server-side', '-k', join(CONFIG, part))
    const endpoint = await startEndpoint(plane, issuer, folder)
    const caPem = await servingCa(plane)
    const account = ['create', 'token', 'gateway', '-n', 'platform-gateway', '--duration=24h']
    return {
      plane,
      endpoint,
      caPem,
      gatewayToken: (await kubectl(...account)).trim(),
      openWebhook: async () => {
        const before = await loadsOf(plane)
        await writeAuthorization(authorization, endpoint.url(), caPem)
        const isLoaded = async () => (await loadsOf(plane)) > before || undefined
        await eventually('the webhook is asked', isLoaded, { withinMs: 120_000 })
      },
      stop: async () => {
        await endpoint.stop()
        await plane.stop()
      },
    }
  } catch (error) {
    await plane.stop()
    throw error
  }
}

async function startEndpoint(
  plane: ControlPlane,
  { issuer, cluster, caPem }: Particulars,
  folder: string,
): Promise<OwnGateway> {
  const [caFile, tokenFile] = [join(folder, 'issuer-ca.pem'), join(folder, 'webhook-token')]
  await writeFile(caFile, caPem)
  await writeFile(tokenFile, WEBHOOK_TOKEN)
  return startDirect({
    kubeconfig: await plane.serviceAccountKubeconfig(NAMESPACE, 'direct'),
    flags: [
      `--cluster=${cluster}`,
      `--issuer-url=${issuer}`,
      `--issuer-ca-file=${caFile}`,
      `--webhook-token-file=${tokenFile}`,
      '--allow-target-cidr=127.0.0.0/8',
    ],
  })
}

/** Writes the shipped file, and the kubeconfig that it names. */
async function writeAuthorization(file: string, endpoint: string, caPem: string): Promise<void> {
  const ca = Buffer.from(caPem).toString('base64')
  const server = `${endpoint}/authorize`
  const kubeconfig = {
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server, 'certificate-authority-data': ca } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    users: [{ name: 'it', user: { token: WEBHOOK_TOKEN } }],
  }
  await writeFile(`${file}.kubeconfig`, JSON.stringify(kubeconfig))
  const shipped = await readFile(join(CONFIG, 'direct/webhook/authorization.yaml'), 'utf8')
  const named = '/etc/kubernetes/authorization/kubeconfig.yaml'
  await writeFile(`${file}.next`, shipped.replace(named, `${file}.kubeconfig`))
  await rename(`${file}.next`, file)
}

const LOADS =
  /^apiserver_authorization_config_controller_automatic_reloads_total\{.*status="success".*\} (\d+)$/m

/** How often the server has loaded a changed authorization file. */
async function loadsOf(plane: ControlPlane): Promise<number> {
  return Number(LOADS.exec(await mustKubectl(plane, ['get', '--raw', '/metrics']))?.[1] ?? 0)
}
