// What the administrators of a connected cluster of the tests create there: rights for users of the platform, spaces and
// a virtual cluster.
import { join } from 'node:path'
import { TARGET_LABEL } from '../../src/api/names.ts'
import { kubeconfig } from '../../tools/control-plane/kubeconfig.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { untilMay } from '../support/raw-client.ts'
import type { DirectCluster, DirectEndpoint } from './direct-cluster.ts'
import { readFile } from 'node:fs/promises'

const RBAC = 'rbac.authorization.k8s.io'

/** A Role over ConfigMaps of a namespace, with the Namespace, for a group. */
const reading = (namespace: string, group: string): readonly object[] => {
  const metadata = { name: 'tests', namespace }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata,
      rules: [
        { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
        { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      ],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'Role', name: 'tests' },
      subjects: [{ apiGroup: RBAC, kind: 'Group', name: group }],
    },
  ]
}

/** Creates a namespace, and lets a group do everything with its ConfigMaps. Resolves when that is in effect. */
export async function grantReading(
  { apply, raw }: Pick<DirectCluster, 'apply' | 'raw'>,
  namespace: string,
  group: string,
): Promise<void> {
  const objects = reading(namespace, group)
  await apply(objects.slice(0, 1))
  await apply(objects.slice(1))
  const member = { user: 'anybody', groups: [group] }
  await untilMay(raw, member, { verb: 'list', resource: 'configmaps', namespace })
}

/** The Secret of a target. */
const secretOf = (
  kind: 'space' | 'virtualcluster',
  name: string,
  data: Readonly<Record<string, string>>,
): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: `${kind}-${name}`,
    namespace: 'platform-system-targets',
    labels: { [TARGET_LABEL]: kind },
  },
  stringData: { name, project: 'p', ...data },
})

/** The Secrets of spaces `plain` and `named` of project p, both in namespace shop. */
export const SPACES: readonly object[] = [
  secretOf('space', 'plain', { namespace: 'shop' }),
  secretOf('space', 'named', { namespace: 'shop', cluster: 'another' }),
]

/** The account that impersonates in a virtual cluster, as the direct endpoint does in its own. */
const ACCOUNT = { namespace: 'platform-system', name: 'direct' } as const
const IMPERSONATION = join(import.meta.dirname, '../../config/direct/impersonation.yaml')

/** Connects the spaces, and a control plane as virtual cluster `vc`; resolves when all work. */
export async function connectTargets({
  cluster,
  endpoint,
  plane,
}: {
  readonly cluster: DirectCluster
  readonly endpoint: DirectEndpoint
  readonly plane: TestControlPlane
}): Promise<void> {
  const { namespace, name } = ACCOUNT
  await mustKubectl(plane, ['create', 'serviceaccount', name, '-n', namespace])
  await mustKubectl(plane, ['apply', '--server-side', '-f', IMPERSONATION])
  const input = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: reading('default', 'platform:group:dev').slice(1),
  })
  await mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input })
  const token = (await mustKubectl(plane, ['create', 'token', name, '-n', namespace])).trim()
  const caPem = await readFile(plane.caFile, 'utf8')
  const text = kubeconfig('vc', { url: plane.url, caPem }, { token })
  await cluster.apply([...SPACES, secretOf('virtualcluster', 'vc', { kubeconfig: text })])
  await untilReady(endpoint, 3)
}

/** Waits until so many targets work. */
export async function untilReady({ process }: DirectEndpoint, count: number): Promise<void> {
  const areReady = async () => {
    const ready = /^platform_gateway_target_ready\{.*\} 1$/gm
    const page = await process.metrics()
    if (page.match(ready)?.length === count) return true
    throw new Error(page.match(/^platform_gateway_target_ready.*$/gm)?.join('\n'))
  }
  await eventually(`${count} targets work`, areReady, { withinMs: 30_000 })
}
