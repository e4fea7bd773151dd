// Random scopes, and random requests to the world of the three ways. The same seed makes the same.
import type { Scope } from '../../src/api/scope.gen.ts'
import { isMethod } from '../../src/gateway/request/request-info.ts'
import type { Random } from '../support/random.ts'
import { requestSent } from '../support/request-fuzzer.ts'
import { oneEntry, union } from '../unit/domain/scope/random-scopes.ts'
import { CLUSTER } from './direct-cluster.ts'
import { accessReview } from './three-ways-rows.ts'

/** The verbs that random rules have, and what stands for them here. */
const VERBS = [
  { get: 'get', delete: 'delete', impersonate: 'list' },
  { get: 'update', delete: 'get', impersonate: 'create' },
  { get: 'create', delete: 'deletecollection', impersonate: 'watch' },
  { get: 'get', delete: 'patch', impersonate: 'impersonate' },
] as const

/** A scope of one to three entries, each of which may grant something in the cluster. */
export function scopeDrawn(random: Random): Scope {
  const entries = random.pick([[1], [1, 2], [1, 2, 3]]).map(() => entryDrawn(random))
  const text = JSON.stringify(entries.reduce(union))
  const verbs = random.pick(VERBS)
  const replaced = text
    .replaceAll(/"(get|delete|impersonate)"/g, (_, verb: keyof (typeof VERBS)[0]) =>
      JSON.stringify(verbs[verb]),
    )
    .replaceAll('"c1"', JSON.stringify(CLUSTER))
  return JSON.parse(replaced) as Scope
}

/** Rules more often than the rest: they have more to decide. */
function entryDrawn(random: Random): Scope {
  const drawn = [1, 2, 3].map(() => oneEntry(random))
  return drawn.find(({ rules }) => rules !== undefined) ?? random.pick(drawn)
}

const NAMESPACES = ['p-a', 'p-a', 'p-b']

/** Resources that scopes name, with what is behind their names. */
const CORE = [
  'pods',
  'pods',
  'configmaps',
  'services',
  'secrets',
  'serviceaccounts',
  'namespaces',
  'nodes',
]
const GROUPS = [
  'apps/v1 deployments',
  'batch/v1 jobs',
  'machines.example.com/v1 machines',
  'management.platform.sh/v1 ownedaccesskeys',
]
const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  pods: ['log', 'exec', 'exec', 'status', 'ephemeralcontainers', 'attach', 'proxy', 'eviction'],
  services: ['proxy'],
  serviceaccounts: ['token'],
  nodes: ['proxy', 'status'],
  deployments: ['scale', 'status'],
  machines: ['vnc', 'console'],
  namespaces: ['status'],
}
const CLUSTER_WIDE: ReadonlySet<string> = new Set(['nodes', 'namespaces'])
// biome-ignore format: a table
const PATHS = ['/', '/healthz', '/healthz/ping', '/healthz/a', '/metrics', '/livez', '/logs', '/version', '/api', '/apis', '/apis/apps/v1', '/api/v1', '/openapi/v3']

/** A request as tables write it; one in nine as no client makes it. */
export function requestDrawn(random: Random): string {
  const { pick } = random
  const kind = pick([
    'odd',
    'path',
    'review',
    'core',
    'core',
    'core',
    'core',
    'group',
    'group',
  ] as const)
  if (kind === 'review') return reviewDrawn(random)
  if (kind === 'odd') return oddRequest(random)
  if (kind === 'path') return `${pick(['GET', 'GET', 'GET', 'HEAD', 'POST'])} ${pick(PATHS)}`
  const [version = '', resource = ''] =
    kind === 'core' ? ['v1', pick(CORE)] : pick(GROUPS).split(' ')
  const root = version === 'v1' ? '/api/v1' : `/apis/${version}`
  const isWide = CLUSTER_WIDE.has(resource) || pick([false, false, false, true])
  const collection = `${root}${isWide ? '' : `/namespaces/${pick(NAMESPACES)}`}/${resource}`
  const name = resource === 'namespaces' ? pick(NAMESPACES) : pick(['m', 'm', 'n'])
  return pick([onCollection, onObject, onObject, onSubresource])(collection, name, random)
}

type Draw = (collection: string, name: string, random: Random) => string

const onCollection: Draw = (collection, name, { pick }) => {
  const query = pick(['', '', '?watch=1', `?fieldSelector=metadata.name%3D${name}`, '?limit=1'])
  return `${pick(['GET', 'GET', 'GET', 'POST', 'DELETE'])} ${collection}${query}`
}

const onObject: Draw = (collection, name, { pick }) => {
  const how = pick(['GET', 'GET', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
  // Of an object that exists the API server asks for no create.
  const isApply = how === 'PATCH' && name === 'n' && APPLIED.test(collection)
  if (isApply) return `PATCH ${collection}/n apply`
  return `${how} ${collection}/${name}${pick(['', '', '', '/'])}`
}

/** Kinds whose bodies are sound: others are refused before anybody asks for a create. */
const APPLIED = /\/namespaces\/p-.\/(?:configmaps|services|serviceaccounts|deployments)$/

const onSubresource: Draw = (collection, name, { pick }) => {
  const resource = collection.slice(collection.lastIndexOf('/') + 1)
  const subresource = pick(SUBRESOURCES[resource] ?? ['status'])
  const path = `${collection}/${name}/${subresource}`
  if (subresource === 'exec' || subresource === 'attach') {
    const query = '?command=id&stdout=true'
    return pick([`GET ${path}${query} websocket`, `POST ${path}${query}`, `GET ${path}${query}`])
  }
  return `${pick(['GET', 'GET', 'POST', 'PUT', 'PATCH'])} ${path}`
}

/** Whether the caller may do something: any attributes, whether requests have such or not. */
function reviewDrawn(random: Random): string {
  const { pick } = random
  const verb = pick([
    'get',
    'list',
    'create',
    'update',
    'delete',
    'patch',
    'escalate',
    'impersonate',
    '*',
    'head',
  ])
  if (pick([1, 2, 3, 4]) === 1)
    return accessReview({ nonResourceAttributes: { verb, path: pick(PATHS) } })
  const [version = '', resource = ''] = pick([...CORE.map((one) => `v1 ${one}`), ...GROUPS]).split(
    ' ',
  )
  const group = version.includes('/') ? version.split('/')[0] : ''
  const subresource = pick(['', '', '', ...(SUBRESOURCES[resource] ?? []), '*'])
  const namespace = pick(['', ...NAMESPACES])
  const name = pick(['', 'm', 'n', '*'])
  const written = pick([
    { resource, subresource },
    { resource, subresource },
    { resource: `${resource}/${subresource}` },
    { resource: '*' },
  ])
  return accessReview({
    resourceAttributes: {
      verb,
      group: pick([group, group, group, '*']),
      namespace,
      name,
      ...written,
    },
  })
}

/** What Node's client can't send, what no server answers, and an apply, are left out; writes are dry as all others. */
function oddRequest(random: Random): string {
  for (;;) {
    const { method, rest } = requestSent(random)
    const path = rest.replace(/^(?=[^/])/, '/')
    const isUsual = isMethod(method) && /^\/[!-~]*$/.test(path) && !/follow|dry/i.test(path)
    if (isUsual && !path.includes('#')) return `${method} ${path}`
  }
}
