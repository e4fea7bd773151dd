// Requests with keys whose scopes do not grant them, and that a naive gateway takes for something that they
// do grant (threats B3, B5 to B10). Beside each scope stands a request that it grants.
import type { Scope } from '../../src/api/scope.gen.ts'
import type { Attack, Caller } from './attacks.ts'

/** A scope, a request that it grants, and those that it does not. */
export interface ScopeUnderAttack {
  readonly caller: Caller
  /** Absent where it grants nothing in the management cluster. */
  readonly granted?: Attack
  readonly attacks: readonly Attack[]
}

type Asked = Omit<Attack, 'name' | 'target' | 'caller' | 'isForbidden'>
type Row = readonly [name: string, method: string, path: string, more?: Asked]

const POD = '/api/v1/namespaces/a/pods/x'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/a/leases/x'
const GROUP = 'management.platform.sh'

function under(
  scope: Scope,
  granted: readonly [method: string, path: string, more?: Asked] | null,
  rows: readonly Row[],
): ScopeUnderAttack {
  const caller = { user: 'ada', scope }
  const attackOf = (...[name, method, path, more]: Row): Attack => ({
    ...more,
    name: `${name}: ${method} ${path}`,
    method,
    target: () => `/kubernetes/management${path}`,
    caller,
  })
  const attacks = rows.map((row): Attack => ({ ...attackOf(...row), isForbidden: true }))
  return { caller, attacks, ...(granted && { granted: attackOf('granted', ...granted) }) }
}

const pods = (...verbs: readonly string[]): Scope => ({
  rules: [{ verbs, resources: [{ resources: ['pods'] }] }],
})
const EVERYTHING: Scope = {
  rules: [
    { resources: ['', 'certificates.k8s.io', GROUP].map((group) => ({ group, resources: ['*'] })) },
  ],
}
const json = (value: unknown): Asked => ({
  headers: ['Content-Type: application/json'],
  body: JSON.stringify(value),
})
const ours = (kind: string, spec: unknown): Asked =>
  json({ apiVersion: `${GROUP}/v1`, kind, metadata: { name: '{mark}' }, spec })
const APPLY: Asked = {
  headers: ['Content-Type: application/apply-patch+yaml'],
  body: '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}',
}
const SUBRESOURCES = [
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'proxy/x',
  'status',
  'ephemeralcontainers',
  'resize',
]
const WIDER: Scope = { rules: [{ resources: [{ group: 'apps', resources: ['*'] }] }] }

/** They all work on a naive gateway. */
// biome-ignore format: a table
export const SCOPES_UNDER_ATTACK: readonly ScopeUnderAttack[] = [
  under(pods('get', 'list'), ['GET', POD], [
    ['B3', 'GET', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/x'], ['B3', 'GET', '/apis/apps/v1/namespaces/a/pods'],
    ['B5', 'OPTIONS', POD], ['B5', 'TRACE', POD], ['B5', 'QUERY', POD],
    ...SUBRESOURCES.map((sub): Row => ['B6', 'GET', `${POD}/${sub}`]),
  ]),
  under({ rules: [{ verbs: ['get', 'update'], resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] }] }, ['GET', LEASE], [['B5', 'PUT', LEASE, json({})]]),
  under(pods('patch'), ['PATCH', POD, { headers: ['Content-Type: application/merge-patch+json'], body: '{}' }], [
    ['B5', 'PATCH', `${POD}?fieldManager=a`, APPLY],
    ['B6', 'PATCH', `${POD}/status`, { headers: ['Content-Type: application/merge-patch+json'], body: '{}' }],
  ]),
  under(pods('delete'), ['DELETE', POD], [['B5', 'DELETE', '/api/v1/namespaces/a/pods'], ['B5', 'DELETE', '/api/v1/pods?labelSelector=a']]),
  under(pods('create'), ['POST', '/api/v1/namespaces/a/pods', json({})], [
    ['B6', 'POST', `${POD}/eviction`, json({})], ['B6', 'POST', `${POD}/binding`, json({})], ['B6', 'POST', `${POD}/exec?command=id`],
  ]),
  under({ rules: [{ resources: [{ resources: ['*'] }] }] }, ['GET', POD], [
    ['B6', 'POST', `${POD}/exec?command=id`], ['B6', 'GET', `${POD}/attach`], ['B6', 'GET', `${POD}/portforward`],
    ['B7', 'GET', '/api/v1/nodes/x/proxy'], ['B7', 'GET', '/api/v1/nodes/x/proxy/exec/a/b/c?command=id'], ['B7', 'GET', '/api/v1/namespaces/a/services/https:x:443/proxy/'], ['B7', 'GET', `${POD}/proxy/x`],
  ]),
  under({ rules: [{ resources: [{ group: '*' }, { group: '*', resources: ['pods/exec', 'nodes/proxy', 'serviceaccounts/token'] }] }] }, ['GET', LEASE], [
    ['B6: in every group', 'POST', `${POD}/exec?command=id`], ['B7: in every group', 'GET', '/api/v1/nodes/x/proxy'], ['B8: in every group', 'POST', '/api/v1/namespaces/a/serviceaccounts/x/token', json({})],
  ]),
  under(EVERYTHING, ['POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { scope: EVERYTHING })], [
    ['B8: a token of a service account', 'POST', '/api/v1/namespaces/a/serviceaccounts/x/token', json({})],
    ['B8: an approval', 'PUT', '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval', json({})],
    ['B8: a wider key', 'POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { scope: WIDER })],
    ["B8: somebody else's key", 'POST', `/apis/${GROUP}/v1/ownedaccesskeys`, ours('OwnedAccessKey', { user: 'root' })],
    ['B8: a wider token', 'POST', `/apis/${GROUP}/v1/directclusterendpointtokens`, ours('DirectClusterEndpointToken', { cluster: 'c', scope: WIDER })],
  ]),
  ...([{ roles: [{ role: 'no-such-role' }] }, { roles: [{ role: 'agent', projects: ['p'] }] }, { clusters: [{ cluster: 'x' }] }, { spaces: [{ project: 'p', space: 's' }] }, { virtualClusters: [{ project: 'p', virtualCluster: 'v' }] }] satisfies readonly Scope[]).map((scope) =>
    under(scope, null, [['B9', 'GET', POD], ['B9', 'DELETE', POD], ['B9', 'GET', '/api/v1/secrets']]),
  ),
  under({ rules: [{ verbs: ['list', 'watch'], resources: [{ resources: ['pods'], resourceNames: ['mine'] }] }] }, ['GET', '/api/v1/namespaces/a/pods?fieldSelector=metadata.name=mine'], ['fieldSelector=metadata.name=theirs&fieldSelector=metadata.name=mine', 'fieldSelector=&fieldSelector=metadata.name=mine', 'fieldSelector=metadata.name!=mine', 'fieldSelector=spec.metadata.name=mine', 'field%53elector=metadata.name%21%3Dmine'].map((query): Row => ['B10', 'GET', `/api/v1/namespaces/a/pods?${query}`]),
  ),
]
