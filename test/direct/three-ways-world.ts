// What the connected cluster of the three ways holds, and what its RBAC lets user ada in group dev do there. The rights
// are those of groups: the gateway and tokens give her two names, and the same groups.

const RBAC = 'rbac.authorization.k8s.io'

const NAMESPACES = ['p-a', 'p-b']

const namespaced = (
  apiVersion: string,
  kind: string,
  namespace: string,
  rest: object,
  name = 'm',
) => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  ...rest,
})

/** A container for pods that never run. */
export const POD_SPEC = { containers: [{ name: 'c', image: 'example.com/c' }] }

/** The spec of a Deployment. */
export const DEPLOYMENT_SPEC = {
  selector: { matchLabels: { app: 'c' } },
  template: { metadata: { labels: { app: 'c' } }, spec: POD_SPEC },
}

// biome-ignore format: a table
const CORE = [
  'pods', 'pods/log', 'pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'pods/status', 'pods/ephemeralcontainers', 'pods/eviction', 'pods/binding',
  'configmaps', 'services', 'services/proxy', 'serviceaccounts', 'serviceaccounts/token', 'namespaces', 'namespaces/status', 'namespaces/finalize', 'nodes', 'nodes/proxy',
  'events', 'podtemplates', 'users', 'groups',
]

/** Nearly all, but no Secrets outside of p-b, no Leases and few paths: RBAC refuses too. */
const WIDE = [
  { apiGroups: [''], resources: CORE, verbs: ['*'] },
  {
    apiGroups: [
      'apps',
      'batch',
      'policy',
      'certificates.k8s.io',
      RBAC,
      'machines.example.com',
      'management.platform.sh',
    ],
    resources: ['*'],
    verbs: ['*'],
  },
  { nonResourceURLs: ['/', '/healthz', '/healthz/*', '/metrics'], verbs: ['get', 'head', 'post'] },
]

const bound = (kind: string, group: string, metadata: object) => ({
  apiVersion: `${RBAC}/v1`,
  kind: `${kind}Binding`,
  metadata,
  roleRef: { apiGroup: RBAC, kind, name: 'three-ways' },
  subjects: [{ apiGroup: RBAC, kind: 'Group', name: `platform:${group}` }],
})

const SECRETS_OF_DEV = { name: 'three-ways', namespace: 'p-b' }

/** Objects and rights, in the order in which they can be applied. */
export const WORLD: readonly object[] = [
  ...NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
  ...NAMESPACES.flatMap((namespace) => [
    // Pods can't be created without it, and no controller creates it here.
    namespaced('v1', 'ServiceAccount', namespace, {}, 'default'),
    namespaced('v1', 'ServiceAccount', namespace, {}),
    namespaced('v1', 'ConfigMap', namespace, { data: { a: 'b' } }),
    namespaced('v1', 'Secret', namespace, { stringData: { a: 'b' } }),
    namespaced('v1', 'Pod', namespace, { spec: POD_SPEC }),
    namespaced('v1', 'Service', namespace, { spec: { ports: [{ port: 80 }] } }),
    namespaced('apps/v1', 'Deployment', namespace, { spec: DEPLOYMENT_SPEC }),
  ]),
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm' } },
  { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name: 'three-ways' }, rules: WIDE },
  bound('ClusterRole', 'user:ada', { name: 'three-ways' }),
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: SECRETS_OF_DEV,
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }],
  },
  bound('Role', 'group:dev', SECRETS_OF_DEV),
]
