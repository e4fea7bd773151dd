// Requests to an API that no client would send: a grammar of what the API server reads, with mistakes.
// The same seed makes the same requests.
import { METHODS } from '../../../src/gateway/request/request-info.ts'
import type { Random } from '../random.ts'
import { querySent } from './queries.ts'
import { spelled, misspelled } from './spelling.ts'

/** A request as it is sent: what follows the route of its target, byte by byte. */
export interface SentRequest {
  readonly method: string
  readonly rest: string
}

/** One request: well-formed more often than not, as mistakes that come together hide one another. */
export function requestSent(random: Random): SentRequest {
  const { pick } = random
  const method = pick([...METHODS, ...METHODS, ...GETS, pick(ODD_METHODS)])
  const segments = misspelled(segmentsAsked(random), random)
  const path = segments.map((segment) => spelled(segment, random)).join('/')
  const slash = pick([...Array.from({ length: 20 }, () => ''), '/', '/', '/', '//'])
  const rest = `${pick(BEGINNINGS)}${path}${slash}${querySent(random)}`
  // Spaces at its end are part of no target: a line has one or more of them before the version.
  return { method, rest: rest.replace(/ +$/, '') }
}

/** The verb of a GET depends on more than its path. */
const GETS = Array.from({ length: 14 }, () => 'GET')

// biome-ignore format: a table
const ODD_METHODS = ['OPTIONS', 'TRACE', 'CONNECT', 'QUERY', 'get', 'Get', 'post', 'LIST', 'WATCH', 'APPLY', 'DELETECOLLECTION', 'PROXY'] as const

// biome-ignore format: a table
const BEGINNINGS = [...Array.from({ length: 100 }, () => '/'), '', '//', '/\\', '///', 'http://evil.example/', '/./', '/../', '/%2f', '?'] as const

function segmentsAsked(random: Random): readonly string[] {
  const { pick } = random
  const kind = pick(['core', 'core', 'core', 'group', 'group', 'group', 'path'] as const)
  if (kind === 'path') return pick(PATHS).split('/')
  const [prefix, ...resources] = kind === 'core' ? pick(CORE) : pick(GROUPS)
  const legacy = pick([...Array.from({ length: 30 }, () => []), ['watch'], ['proxy']])
  const namespace = pick([[], ['namespaces', pick(NAMES)]])
  const resource = pick([pick(resources), pick(resources), pick(resources), pick(ODD_RESOURCES)])
  const tails = [[], [], [], [pick(NAMES)], [pick(NAMES)], [pick(NAMES), pick(SUBRESOURCES)]]
  const tail = pick([...tails, ...tails, [pick(NAMES), pick(SUBRESOURCES), pick(NAMES)]])
  const shape = pick([0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
  if (shape === 1) return [...prefix.split('/'), ...legacy, ...namespace]
  if (shape === 2) return [...prefix.split('/'), ...legacy, ...namespace, pick(SUBRESOURCES)]
  return [...prefix.split('/'), ...legacy, ...namespace, resource, ...tail]
}

/** A prefix, then resources behind it. */
type Served = readonly [prefix: string, ...resources: string[]]

// biome-ignore format: a table
const CORE: readonly Served[] = [
  ['api/v1', 'pods', 'secrets', 'configmaps', 'services', 'nodes', 'namespaces', 'events', 'serviceaccounts', 'endpoints', 'persistentvolumes', 'componentstatuses', 'bindings'],
  ['api/v2', 'pods', 'namespaces'],
  ['api/V1', 'pods'],
]
// biome-ignore format: a table
const GROUPS: readonly Served[] = [
  ['apis/apps/v1', 'deployments', 'statefulsets', 'daemonsets', 'replicasets'],
  ['apis/management.platform.sh/v1', 'ownedaccesskeys', 'directclusterendpointtokens', 'configs', 'config', 'Config'],
  ['apis/management.platform.sh/v2', 'config', 'ownedaccesskeys'],
  ['apis/rbac.authorization.k8s.io/v1', 'roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
  ['apis/apiextensions.k8s.io/v1', 'customresourcedefinitions'],
  ['apis/certificates.k8s.io/v1', 'certificatesigningrequests'],
  ['apis/authentication.k8s.io/v1', 'selfsubjectreviews', 'tokenreviews'],
  ['apis/authorization.k8s.io/v1', 'selfsubjectaccessreviews', 'localsubjectaccessreviews'],
  ['apis/events.k8s.io/v1', 'events'],
  ['apis/coordination.k8s.io/v1', 'leases'],
  ['apis/apiregistration.k8s.io/v1', 'apiservices'],
  ['apis/metrics.k8s.io/v1beta1', 'pods', 'nodes'],
  ['apis/no.such.group/v1', 'things'],
  ['apis/namespaces/v1', 'namespaces'],
  ['apis/api/v1', 'pods'],
]
// biome-ignore format: a table
const PATHS = [
  '', 'api', 'apis', 'api/v1', 'apis/apps', 'apis/apps/v1', 'apis/management.platform.sh', 'apis/management.platform.sh/v1', 'version', 'healthz', 'healthz/ping',
  'livez', 'readyz', 'readyz/etcd', 'metrics', 'metrics/slis', 'openapi', 'openapi/v3', 'openapi/v3/apis/apps/v1', 'logs', 'logs/kube-apiserver.log', 'debug/pprof/profile',
  '.well-known/openid-configuration', 'openid/v1/jwks', 'API', 'API/v1/pods', 'Apis/apps/v1/deployments', 'apiv1/pods', 'ap', 'api.', 'swagger.json', 'kubernetes/management/api/v1/pods',
  'api/watch', 'apis/watch/v1', 'api/v1/watch', 'api/v1/proxy', 'apis/apps/v1/watch', 'apis/apps/v1/proxy', 'flagz', 'statusz', 'clusters/x/api/v1/pods', 'favicon.ico',
] as const
// biome-ignore format: a table
const ODD_RESOURCES = ['Pods', 'po', 'pod', 'secrets.', 'secrets ', 'SECRETS', 'watch', 'proxy', 'status', 'finalize', 'namespaces', 'v1', '*', 'pods:x', 'api', 'ｐods', '__proto__', 'constructor'] as const
// biome-ignore format: a table
const NAMES = [
  'a', 'b', 'default', 'kube-system', 'p-one', 'x.y', 'system:node', 'a b', 'é', 'e\u0301', '日本', '🙂', 'a;b', 'a=b', 'a&b', 'a?b', 'a#b', 'a+b', 'a,b', '*', '~', '-', '_', '@', '$', "it's", '(x)',
  'status', 'finalize', 'namespaces', 'pods', 'secrets', 'watch', 'proxy', 'log', '...', '.a', 'a.', 'https:web:443', '{a}', '[a]', '"a"', '<a>', 'a|b', 'a^b', 'a`b', '!', 'true', '0', '\ufeffa', '\u00a0',
  '\u2028', '\u200b', 'ſ', 'K', 'İ', 'x'.repeat(300),
] as const
// biome-ignore format: a table
const SUBRESOURCES = ['status', 'scale', 'log', 'exec', 'attach', 'portforward', 'proxy', 'token', 'finalize', 'eviction', 'binding', 'ephemeralcontainers', 'approval', 'resize', 'x', 'watch', 'namespaces'] as const
