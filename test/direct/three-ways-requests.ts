// Requests as tables write them: method, path, and what is not usual. What they write is a dry run, so that all ways see
// the same world.
import { DEPLOYMENT_SPEC, POD_SPEC } from './three-ways-world.ts'

/** A request as it is sent. */
export interface Asked {
  readonly method: string
  /** With the query, byte by byte. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** null = none. */
  readonly body: string | null
}

/** Words after the path: the type of a patch, or an upgrade. */
const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  apply: { 'content-type': 'application/apply-patch+yaml' },
  strategic: { 'content-type': 'application/strategic-merge-patch+json' },
  websocket: {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  },
  spdy: {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': 'v4.channel.k8s.io',
  },
}

/**
 * Reads `GET /api/v1/namespaces/p-a/pods`, `PATCH /api/v1/namespaces/p-a/pods/m apply`, or
 * `POST /path {"kind":"…"}` with a body of its own.
 */
export function askedOf(text: string): Asked {
  const [, method = '', path = '', rest = ''] = /^(\S+) (\S+) ?(.*)$/s.exec(text) ?? []
  const headers = WORDS[rest]
  const isWrite = !['GET', 'HEAD'].includes(method) && headers?.['upgrade'] === undefined
  const isSession = method === 'POST' && /\/(?:exec|attach|portforward|proxy)\b/.test(path)
  const sent = isWrite && !isSession && !path.includes('dryRun=') ? dry(path) : path
  if (!isWrite || method === 'DELETE' || isSession)
    return { method, path: sent, headers: headers ?? {}, body: null }
  const usual = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const body = rest.startsWith('{') ? rest : JSON.stringify(bodyOf(method, path, rest))
  return { method, path: sent, headers: headers ?? { 'content-type': usual }, body }
}

/** With the manager that an apply needs; other writes may have one. */
const dry = (path: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}dryRun=All&fieldManager=ways`

// biome-ignore format: a table
const KINDS: Readonly<Record<string, string>> = {
  pods: 'Pod', configmaps: 'ConfigMap', secrets: 'Secret', services: 'Service', serviceaccounts: 'ServiceAccount', namespaces: 'Namespace', nodes: 'Node', events: 'Event',
  deployments: 'Deployment', roles: 'Role', rolebindings: 'RoleBinding', clusterroles: 'ClusterRole', clusterrolebindings: 'ClusterRoleBinding', jobs: 'Job',
  certificatesigningrequests: 'CertificateSigningRequest', leases: 'Lease', machines: 'Machine', ownedaccesskeys: 'OwnedAccessKey',
  token: 'TokenRequest', eviction: 'Eviction', scale: 'Scale', binding: 'Binding',
}

const SUBRESOURCE_VERSIONS: Readonly<Record<string, string>> = {
  token: 'authentication.k8s.io/v1',
  eviction: 'policy/v1',
  scale: 'autoscaling/v1',
}

const SPECS: Readonly<Record<string, object>> = {
  Pod: { spec: POD_SPEC },
  Deployment: { spec: DEPLOYMENT_SPEC },
  Service: { spec: { ports: [{ port: 80 }] } },
  TokenRequest: { spec: { audiences: ['example.com'] } },
  Job: { spec: { template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } } } },
  Scale: { spec: { replicas: 2 } },
  Binding: { target: { kind: 'Node', name: 'm' } },
}

/** An object that fits to a path, or a patch of it. */
function bodyOf(method: string, path: string, patch: string): object {
  const [bare = ''] = path.replace(/^\//, '').split('?')
  const parts = bare.split('/').filter((part) => part !== '')
  const version = parts
    .splice(0, parts[0] === 'api' ? 2 : 3)
    .slice(1)
    .join('/')
  const isInNamespace =
    parts[0] === 'namespaces' && parts.length > 2 && !/^(?:status|finalize)$/.test(parts[2] ?? '')
  const [, namespace] = isInNamespace ? parts.splice(0, 2) : []
  const [resource = '', named, subresource = ''] = parts
  const kind = KINDS[subresource] ?? KINDS[resource] ?? 'Thing'
  const metadata = {
    name: named ?? 'new',
    ...(namespace === undefined ? {} : { namespace }),
    labels: { changed: 'yes' },
  }
  if (method === 'PATCH' && patch !== 'apply') return { metadata: { labels: metadata.labels } }
  return {
    apiVersion: SUBRESOURCE_VERSIONS[subresource] ?? version,
    kind,
    metadata,
    ...SPECS[kind],
  }
}
