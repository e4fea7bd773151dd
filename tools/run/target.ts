// The connected cluster of `make run` as a target of the gateway, with a pod to exec into.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { Access } from '../control-plane/access.ts'
import type { ControlPlane } from '../control-plane/control-plane.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { kubeconfig } from '../control-plane/kubeconfig.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { type Kubelet, startKubelet } from '../kubelet/kubelet.ts'
import { NODE_FLAGS } from '../node-flags.ts'
import { CLUSTER } from './connected-cluster.ts'
import type { RunFolders } from './program.ts'

const POD = 'web'
const APPLY = ['apply', '--server-side', '-f', '-']

/** The connected cluster, and the namespace in which the gateway has its targets. */
interface TargetOptions {
  readonly management: Access
  readonly cluster: Access & Pick<ControlPlane, 'dataDir' | 'url'>
  /** PEM of the authority of that cluster's API server. */
  readonly clusterCaPem: string
  readonly folders: RunFolders
  readonly log: (line: string) => void
}

/** Flags of a gateway whose targets are on this machine. */
export const LOCAL_TARGETS = ['--allow-target-cidr=127.0.0.0/8'] as const

/**
 * Gives the gateway its account in the cluster and writes the Secret of the target, as docs/targets.md tells; starts a
 * node there, and a pod on it.
 *
 * @returns the node; null = it can't be started here, such as without Go, and there is no pod
 * @throws Error when a manifest is refused
 */
export async function startTarget(options: TargetOptions): Promise<Kubelet | null> {
  const { management, cluster, folders, log } = options
  await mustKubectl(cluster, ['apply', '--server-side', '-k', join(folders.root, 'config/target')])
  await mustKubectl(management, APPLY, { input: await secretOf(options) })
  const node = await startKubelet({ controlPlane: cluster, nodeName: 'node-1', log }).catch(
    (error: Error) => log(`no node, so there is no pod to exec into: ${error.message}`),
  )
  if (!node) return null
  await mustKubectl(cluster, APPLY, { input: podOn(node) })
  return node
}

/** The manifest of the target's Secret. The token lives for a day: no controller here makes one that does not end. */
async function secretOf({ cluster, clusterCaPem, folders }: TargetOptions): Promise<string> {
  const { home, main } = folders
  const account = ['create', 'token', 'gateway', '-n', 'platform-gateway', '--duration=24h']
  const token = (await mustKubectl(cluster, account)).trim()
  const file = join(home, 'target.kubeconfig')
  const server = { url: cluster.url, caPem: clusterCaPem }
  await replaceFile(file, kubeconfig(CLUSTER, server, { token }))
  const args = ['target', `--name=${CLUSTER}`, `--kubeconfig=${file}`, '--side=platform']
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, main, ...args])
  return stdout
}

/** The pod, its ServiceAccount, which no controller makes here, and the rights of user ada on it. */
function podOn({ nodeName }: Pick<Kubelet, 'nodeName'>): string {
  const apiGroup = 'rbac.authorization.k8s.io'
  const named = { name: POD, namespace: 'default' }
  const sessions = ['pods/exec', 'pods/attach', 'pods/portforward']
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...named, name: 'default' } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: named,
      spec: {
        nodeName,
        automountServiceAccountToken: false,
        containers: [{ name: 'main', image: 'example.com/none' }],
      },
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'Role',
      metadata: named,
      rules: [
        { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list', 'watch'] },
        { apiGroups: [''], resources: sessions, verbs: ['get', 'create'] },
      ],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: named,
      roleRef: { apiGroup, kind: 'Role', name: POD },
      subjects: [{ apiGroup, kind: 'Group', name: 'platform:user:ada' }],
    },
  ]
  return objects.map((object) => stringify(object)).join('---\n')
}
