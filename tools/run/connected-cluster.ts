// The connected cluster of `make run`: a stock kube-apiserver with an etcd, which verifies tokens by the file that we
// ship. Until the direct endpoint runs there, RBAC alone decides.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts'
import type { Daemon } from '../control-plane/daemon.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { kubeconfig } from '../control-plane/kubeconfig.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'

/** The connected cluster, and the issuer whose tokens it accepts. */
export interface ConnectedOptions {
  /** The folder of `make run`. */
  readonly home: string
  /** The folder of the shipped files. */
  readonly shipped: string
  readonly issuer: string
  /** The CA of the issuer's certificate; PEM. */
  readonly caPem: string
  readonly log: (line: string) => void
}

/** A cluster that accepts tokens. */
export interface ConnectedCluster {
  /** A kubeconfig without a credential of its own: it shows the token in `tokenFile`. */
  readonly kubeconfig: string
  readonly tokenFile: string
  /** A kubeconfig of one of its administrators. */
  readonly adminKubeconfig: string
  readonly plane: ControlPlane
  /** PEM of the authority of its API server. */
  readonly caPem: string
  /** The file with the authority that signed the issuer's certificate. */
  readonly issuerCaFile: string
  /** Replaces the file of --authorization-config. */
  authorize(text: string): Promise<void>
  /** Its daemons, in the order in which they start. */
  readonly daemons: readonly Daemon[]
  stop(): Promise<void>
}

/** The name of the cluster, as scopes and the gateway's target have it. */
export const CLUSTER = 'my-cluster'

/** The authorizers until the webhook runs. */
const WITHOUT_WEBHOOK = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- {type: RBAC, name: rbac}
`

/** Starts it. */
export async function startConnectedCluster(options: ConnectedOptions): Promise<ConnectedCluster> {
  const { home, log } = options
  const folder = join(home, 'connected-cluster')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const authentication = await writeAuthentication(folder, options)
  const authorizationFile = join(folder, 'authorization.yaml')
  await replaceFile(authorizationFile, WITHOUT_WEBHOOK)
  const plane = await startControlPlane({
    dataDir: join(folder, 'control-plane'),
    controllers: 'none',
    apiServerFlags: [
      `--authentication-config=${authentication.file}`,
      `--authorization-config=${authorizationFile}`,
    ],
    log,
  })
  await letLook(plane)
  const tokenFile = join(home, 'token')
  const config = join(home, 'stock.kubeconfig')
  const caPem = readFileSync(plane.caFile, 'utf8')
  await replaceFile(config, kubeconfig(CLUSTER, { url: plane.url, caPem }, { tokenFile }))
  const adminKubeconfig = join(home, 'virtual.kubeconfig')
  await replaceFile(adminKubeconfig, readFileSync(plane.adminKubeconfig, 'utf8'))
  return {
    kubeconfig: config,
    tokenFile,
    adminKubeconfig,
    plane,
    caPem,
    daemons: [plane.etcd, plane.apiServer],
    issuerCaFile: authentication.caFile,
    authorize: (text) => replaceFile(authorizationFile, text),
    stop: () => plane.stop(),
  }
}

interface Authentication {
  readonly file: string
  readonly caFile: string
}

/** With the webhook the server may accept scoped tokens too. */
async function writeAuthentication(
  folder: string,
  { shipped, issuer, caPem }: ConnectedOptions,
): Promise<Authentication> {
  const file = join(folder, 'authentication.yaml')
  const caFile = join(folder, 'issuer-ca.pem')
  const text = readFileSync(join(shipped, 'authentication-with-webhook.yaml'), 'utf8')
  writeFileSync(caFile, caPem)
  await replaceFile(file, adaptedAuthentication(text, { issuer, cluster: CLUSTER, caPem }))
  return { file, caFile }
}

/** The values that a user puts into a shipped authentication file. */
export interface Particulars {
  readonly issuer: string
  readonly cluster: string
  /** The CA of the issuer's certificate; PEM. */
  readonly caPem: string
}

/**
 * A shipped file, adapted as its comments say.
 *
 * @throws Error when it has no commented certificateAuthority
 */
export function adaptedAuthentication(
  text: string,
  { issuer, cluster, caPem }: Particulars,
): string {
  const certificate = caPem.trimEnd().replaceAll(/^/gm, '      ')
  const lines = /^ {4}# certificateAuthority: \|\n(?: {4}# {3}.*\n)+/m
  if (!lines.test(text)) throw new Error('the file has no commented certificateAuthority')
  return text
    .replaceAll('https://platform.example.com/oidc', issuer)
    .replaceAll('my-cluster', cluster)
    .replace(lines, () => `    certificateAuthority: |\n${certificate}\n`)
}

/** The rights that its administrators grant, by the group that each token of user ada has there. */
async function letLook(plane: ControlPlane): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const rbac = (kind: string): object => ({
    apiVersion: `${apiGroup}/v1`,
    kind,
    metadata: { name: 'look-around' },
  })
  const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list'] }]
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'look-around' }
  const subjects = [{ apiGroup, kind: 'Group', name: 'platform:user:ada' }]
  const items = [
    { ...rbac('ClusterRole'), rules },
    { ...rbac('ClusterRoleBinding'), roleRef, subjects },
  ]
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input })
}
