// The objects that connect a target: its Secret, and the account of the gateway on the other side, which config/target
// has as well (contract 9.5).
import { createHash } from 'node:crypto'
import { ACCESS_KEY_EXTRA, SCOPE_EXTRA, TARGET_LABEL, TOKEN_ID_EXTRA } from '../../api/names.ts'
import { secretData } from '../../api/objects.ts'
import { isDnsSubdomain } from '../../domain/dns-name.ts'
import type { ConnectedKind, TargetData } from '../../gateway/targets/definition.ts'

/** An object of a manifest. */
type Manifest = Readonly<Record<string, unknown>>

/** The Secret of a target. */
export function secretManifest(namespace: string, kind: ConnectedKind, data: TargetData): Manifest {
  const labels = { [TARGET_LABEL]: kind }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName(kind, data), namespace, labels },
    data: secretData(data),
  }
}

const LONGEST_NAME = 253

/**
 * The name of the Secret, unique to its target: a digest ends it, because other names of project and target may join to
 * the same text. The name of a target need not be a valid object name.
 */
function secretName(kind: ConnectedKind, { project = '', name = '' }: TargetData): string {
  const plain = `${kind}-${name}`
  if (kind === 'cluster' && plain.length <= LONGEST_NAME && isDnsSubdomain(plain)) return plain
  const identity = JSON.stringify([kind, project, name])
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  const words = [kind, project, name].filter(Boolean).join('-').replaceAll('.', '-')
  return `${words.slice(0, LONGEST_NAME - digest.length - 1)}-${digest}`
}

const NAMESPACE = 'platform-gateway'
const ACCOUNT = 'gateway'
const LABELS = { 'app.kubernetes.io/name': 'management-operator-target' }
const RBAC = 'rbac.authorization.k8s.io'

/** The account of the gateway in a target, with its token. */
const ACCOUNT_MANIFESTS: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: LABELS } },
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: ACCOUNT, namespace: NAMESPACE, labels: LABELS },
    automountServiceAccountToken: false,
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'gateway-token',
      namespace: NAMESPACE,
      labels: LABELS,
      annotations: { 'kubernetes.io/service-account.name': ACCOUNT },
    },
    type: 'kubernetes.io/service-account-token',
  },
]

const on = (verbs: readonly string[]): readonly string[] =>
  verbs.map((verb) => `impersonate-on:user-info:${verb}`)

/** The gateway sends the first; a direct endpoint sends all to the virtual clusters of its cluster (contract 9.2, 10.5). */
const EXTRAS = [ACCESS_KEY_EXTRA, TOKEN_ID_EXTRA, SCOPE_EXTRA].map((one) => `userextras/${one}`)

/** The verbs on objects; the last is for methods behind …/proxy/ that the API server has no verb for, such as OPTIONS. */
const OBJECT_VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  '',
]

/** The verbs of constrained impersonation (contract 10.5). */
const CONSTRAINED = [
  {
    apiGroups: ['authentication.k8s.io'],
    resources: ['users', 'groups', ...EXTRAS],
    verbs: ['impersonate:user-info'],
  },
  {
    apiGroups: ['*'],
    resources: ['*'],
    verbs: on(OBJECT_VERBS),
  },
  { nonResourceURLs: ['*'], verbs: on(['get', 'head', 'post', 'put', 'patch', 'delete']) },
]

/** The older verb, for API servers without these. */
const LEGACY = [
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
  { apiGroups: ['authentication.k8s.io'], resources: EXTRAS, verbs: ['impersonate'] },
]

/** The objects for the target itself. @param isLegacy whether it has no constrained impersonation */
export function targetManifests(isLegacy: boolean): readonly Manifest[] {
  const name = `platform-gateway-${isLegacy ? 'legacy-' : ''}impersonation`
  const metadata = { name, labels: LABELS }
  const apiVersion = `${RBAC}/v1`
  const rules = isLegacy ? LEGACY : CONSTRAINED
  return [
    ...ACCOUNT_MANIFESTS,
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: NAMESPACE }],
    },
  ]
}
