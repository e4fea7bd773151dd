// Targets of a gateway that all lead to its own control plane: a cluster, a virtual cluster and a space in namespace team.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll } from 'vitest'
import type { Kubelet } from '../../../tools/kubelet/kubelet.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { OwnGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { startNode } from '../../support/node.ts'
import { CONFIG } from '../install/installer.ts'
import {
  MANAGEMENT,
  SOON,
  type TestGateway,
  type UsableKey,
  startTestGateway,
} from './test-gateway.ts'

/** Flags of a gateway that may connect to the control plane of a test. */
export const LOCAL_TARGETS = ['--allow-target-cidr=127.0.0.0/8'] as const

/** Where the Secrets of targets are. */
export const TARGET_NAMESPACE = 'platform-system-targets'

/** The namespace of the space. */
export const TEAM = 'team'

/** Each target by its path. */
export const TARGET_PATHS = [
  { target: 'management', path: MANAGEMENT },
  { target: 'cluster', path: '/kubernetes/cluster/east' },
  { target: 'virtual cluster', path: '/kubernetes/project/p/virtualcluster/vc' },
  { target: 'space', path: '/kubernetes/project/p/space/team' },
] as const

/** The targets of a test. */
export interface OwnTargets {
  /** The credential that the gateway has there. */
  readonly token: string
  /** The kubeconfig with it, as in the Secrets. */
  readonly kubeconfig: string
  /** The path of a kubeconfig with the key for another path of the gateway. */
  readonly kubeconfigFor: (key: UsableKey, path: string) => string
  /** The Secret of cluster `name`, as YAML; `given` is its kubeconfig, that of the other targets when absent. */
  readonly secretOf: (name: string, given?: string) => string
}

/** The product with its targets, and a node for pods; user ada is an administrator of TEAM. */
interface SessionSetup {
  readonly setup: TestGateway
  readonly targets: OwnTargets
  readonly node: Kubelet
}

/**
 * Starts them on a private control plane. Call it while the test file loads.
 *
 * @param moreClusters names of more clusters
 */
export async function startForSessions(
  moreClusters: readonly string[] = [],
): Promise<SessionSetup> {
  const setup = await startTestGateway(await privateControlPlane(), 1, LOCAL_TARGETS)
  const { plane } = setup
  const [targets, node] = await Promise.all([
    connectOwnTargets(setup, moreClusters),
    startNode(plane),
  ])
  const toAda = ['--clusterrole=cluster-admin', '--group=platform:user:ada']
  await mustKubectl(plane, ['create', 'rolebinding', 'ada', '-n', TEAM, ...toAda])
  return { setup, targets, node }
}

/**
 * Connects the targets, and waits until the gateway knows them. Needs LOCAL_TARGETS.
 *
 * @param moreClusters names of more clusters
 */
export async function connectOwnTargets(
  { plane, gateways }: TestGateway,
  moreClusters: readonly string[] = [],
): Promise<OwnTargets> {
  const kubectl = (args: readonly string[], input = '') => mustKubectl(plane, args, { input })
  await kubectl(['create', 'namespace', TEAM])
  await kubectl(['apply', '--server-side', '-k', join(CONFIG, 'target')])
  afterAll(() => kubectl(['delete', '-k', join(CONFIG, 'target'), '--ignore-not-found']))
  const token = await eventually(
    'the account of the gateway has a token',
    async () => {
      const account = ['get', 'secret', 'gateway-token', '-n', 'platform-gateway', '-o']
      const encoded = await kubectl([...account, 'jsonpath={.data.token}'])
      return encoded === '' ? undefined : Buffer.from(encoded, 'base64').toString()
    },
    SOON,
  )
  const kubeconfig = kubeconfigText(serverOf(plane), { token })
  const secretOf: OwnTargets['secretOf'] = (name, given = kubeconfig) => clusterSecret(name, given)
  const secrets = [
    ...['east', ...moreClusters].map((name) => secretOf(name)),
    virtualClusterSecret(kubeconfig),
    secret('space', 'space', { name: 'team', project: 'p', cluster: 'east', namespace: TEAM }),
  ]
  await kubectl(['apply', '--server-side', '-f', '-'], secrets.join('---\n'))
  for (const gateway of gateways) {
    const areReady = async () => {
      const ready = (await gateway.metrics()).match(/^platform_gateway_target_ready\{.*\} 1$/gm)
      return ready?.length === secrets.length || undefined
    }
    await eventually('the gateway knows the targets', areReady, SOON)
  }
  return {
    token,
    kubeconfig,
    secretOf,
    kubeconfigFor: (key, path) => {
      const file = `${key.kubeconfig}${path.replaceAll('/', '-')}`
      writeFileSync(file, readFileSync(key.kubeconfig, 'utf8').replace(MANAGEMENT, path))
      return file
    },
  }
}

/** The control plane as a kubeconfig names it. */
const serverOf = ({ url, caFile }: Pick<TestGateway['plane'], 'url' | 'caFile'>) => ({
  url,
  caPem: readFileSync(caFile, 'utf8'),
})

/** Makes the control plane a virtual cluster of its gateway, by the gateway's own account, and waits until it is ready. */
export async function connectOwnVirtualCluster(
  plane: TestGateway['plane'],
  gateway: OwnGateway,
): Promise<void> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const token = (await mustKubectl(plane, ['create', 'token', name, '-n', namespace])).trim()
  const input = virtualClusterSecret(kubeconfigText(serverOf(plane), { token }))
  await mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input })
  const isReady = async () =>
    /^platform_gateway_target_ready\{.*\} 1$/m.test(await gateway.metrics()) || undefined
  await eventually('the gateway knows the virtual cluster', isReady, SOON)
}

const virtualClusterSecret = (kubeconfig: string): string =>
  secret('vc', 'virtualcluster', { name: 'vc', project: 'p', kubeconfig })

/** The Secret of cluster `name` with this kubeconfig, as YAML. */
export const clusterSecret = (name: string, kubeconfig: string): string =>
  secret(`cluster-${name}`, 'cluster', { name, kubeconfig })

/** The kubeconfig of that server for a user, as in a Secret. */
export function kubeconfigText(
  { url, caPem }: { readonly url: string; readonly caPem: string },
  user: Readonly<Record<string, unknown>>,
): string {
  const ca = Buffer.from(caPem).toString('base64')
  return stringify({
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server: url, 'certificate-authority-data': ca } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    users: [{ name: 'it', user }],
  })
}

function secret(name: string, kind: string, data: Readonly<Record<string, string>>): string {
  const labels = { 'management.platform.sh/target': kind }
  return stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: TARGET_NAMESPACE, labels },
    stringData: data,
  })
}
