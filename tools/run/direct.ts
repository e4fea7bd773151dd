// The direct endpoint of the connected cluster of `make run`, which its API server asks before RBAC.
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { GATEWAY_TLS_SECRET } from '../../src/api/names.ts'
import type { Access } from '../control-plane/access.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { kubeconfig } from '../control-plane/kubeconfig.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { choosePort } from '../control-plane/ports.ts'
import { CLUSTER, type ConnectedCluster } from './connected-cluster.ts'
import { auditFlags } from './direct-audit.ts'
import { type KeptProgram, type RunFolders, keepProgram } from './program.ts'

/** The cluster of the direct endpoint, and the platform: its issuer, and where its audit events go. */
interface DirectOptions {
  readonly management: Access
  readonly cluster: Pick<ConnectedCluster, 'plane' | 'tokenFile' | 'issuerCaFile' | 'authorize'>
  readonly issuer: string
  readonly folders: RunFolders
  readonly log: (line: string) => void
}

/** A direct endpoint that is kept running. */
export interface KeptDirectEndpoint extends KeptProgram {
  /** A kubeconfig that leads to it and shows the token of the connected cluster's own. */
  readonly kubeconfig: string
}

const NAMESPACE = 'platform-system'

/**
 * Installs the shipped manifests, starts the direct endpoint as their ServiceAccount, and lets the API server ask it.
 *
 * @throws Error when a manifest is refused, or it is not ready within a minute
 */
export async function startDirectEndpoint(options: DirectOptions): Promise<KeptDirectEndpoint> {
  const { management, cluster, issuer, folders, log } = options
  const { root, home, main } = folders
  const { plane, tokenFile } = cluster
  const shipped = join(root, 'config/direct')
  for (const folder of ['target-namespace', '.'])
    await mustKubectl(plane, ['apply', '--server-side', '-k', join(shipped, folder)])
  const stateDir = join(home, 'direct-state')
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const webhookTokenFile = join(home, 'webhook-token')
  writeFileSync(webhookTokenFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
  const port = await choosePort(join(home, 'direct-port'), log)
  const central = { management, url: issuer, caFile: cluster.issuerCaFile }
  const endpoint = await keepProgram({
    command: 'direct',
    accounts: [{ flag: '--kubeconfig', access: plane, namespace: NAMESPACE, name: 'direct' }],
    title: 'the direct endpoint',
    main,
    flags: [
      `--cluster=${CLUSTER}`,
      `--issuer-url=${issuer}`,
      `--issuer-ca-file=${cluster.issuerCaFile}`,
      `--state-dir=${stateDir}`,
      `--webhook-token-file=${webhookTokenFile}`,
      `--bind-address=127.0.0.1:${port}`,
      ...(await auditFlags(central, folders)),
    ],
    logFile: join(home, 'direct.log'),
    pidFile: join(home, 'direct.pid'),
    log,
  })
  try {
    await endpoint.ready()
    const caPem = await authorityOf(plane)
    const url = `https://127.0.0.1:${port}`
    await openWebhook(options, { url, caPem, tokenFile: webhookTokenFile })
    const file = join(home, 'direct.kubeconfig')
    const server = { url: `${url}/kubernetes/cluster`, caPem }
    await replaceFile(file, kubeconfig(CLUSTER, server, { tokenFile }))
    return { ...endpoint, kubeconfig: file }
  } catch (error) {
    await endpoint.stop()
    throw error
  }
}

/** How the API server reaches the webhook. */
interface Webhook {
  readonly url: string
  readonly caPem: string
  readonly tokenFile: string
}

/** The shipped file, adapted as its comments say. The server loads it by itself. */
async function openWebhook(
  { cluster, folders: { root, home } }: DirectOptions,
  { url, caPem, tokenFile }: Webhook,
): Promise<void> {
  const file = join(home, 'webhook.kubeconfig')
  const server = { url: `${url}/authorize`, caPem }
  await replaceFile(file, kubeconfig('direct-endpoint', server, { tokenFile }))
  const shipped = readFileSync(join(root, 'config/direct/webhook/authorization.yaml'), 'utf8')
  await cluster.authorize(shipped.replace('/etc/kubernetes/authorization/kubeconfig.yaml', file))
}

/** The CA in the Secret with the direct endpoint's self-issued certificate, PEM. */
async function authorityOf(plane: ConnectedCluster['plane']): Promise<string> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', NAMESPACE]
  const encoded = await mustKubectl(plane, [...secret, '-o', 'jsonpath={.data.ca\\.crt}'])
  return Buffer.from(encoded, 'base64').toString('utf8')
}
