import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { type ScopeContext, authorize, parseScope } from '../../../../src/domain/scope/authorize.ts'
import type { RequestInfo, RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import type { PolicyRule } from '../../../../src/domain/scope/roles.ts'

const MANAGEMENT: RequestTarget = { kind: 'Management' }
const CLUSTER: RequestTarget = { kind: 'Cluster', cluster: 'c1' }
const SPACE: RequestTarget = { kind: 'ProjectSpace', project: 'a', space: 's1' }
const VIRTUAL: RequestTarget = { kind: 'ProjectVirtualCluster', project: 'a', virtualCluster: 'v1' }

/** `get pods`, `create pods/exec m` of a target, in a namespace. */
function of(target: RequestTarget, text: string, namespace = '', group = ''): RequestInfo {
  const [verb = '', what = '', name = ''] = text.split(' ')
  const [resource = '', subresource = ''] = what.split('/')
  return { target, verb, group, version: 'v1', resource, subresource, namespace, name }
}

const path = (target: RequestTarget, text: string): RequestInfo => {
  const [verb = '', url = ''] = text.split(' ')
  return { target, verb, path: url }
}

const ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  reader: [
    { verbs: ['get'], apiGroups: ['', 'apps'], resources: ['pods', 'deployments', '*/status'] },
    { verbs: ['get'], nonResourceURLs: ['/healthz*'] },
  ],
  named: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['m'] }],
  all: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] }],
  every: [
    {
      verbs: ['get', 'create', 'bind'],
      apiGroups: ['*'],
      resources: ['pods', 'pods/exec', 'nodes/proxy', 'machines/vnc', 'roles'],
    },
  ],
  both: [{ verbs: ['create'], apiGroups: ['*', ''], resources: ['pods/exec'] }],
  opener: [{ verbs: ['create', 'bind'], apiGroups: [''], resources: ['pods/exec', 'roles'] }],
  agent: [{ verbs: ['get'], apiGroups: [''], resources: ['nodes'] }],
  'network-peer': [{ verbs: ['get'], apiGroups: [''], resources: ['services'] }],
  none: [],
}

const SURROUNDINGS: ScopeContext = {
  projectNamespacePrefix: 'p-',
  roleRules: (role) => (Object.hasOwn(ROLES, role) ? (ROLES[role] ?? []) : []),
}

const isAllowed = (scope: Scope | null, request: RequestInfo, differing = {}): boolean =>
  authorize(parseScope(scope), request, { ...SURROUNDINGS, ...differing }).allowed

const SESSIONS = ['exec', 'attach', 'portforward', 'console', 'vnc', 'usbredir']

/** Subresources of this kind in other groups, such as the console of a machine. */
const sessions = (target: RequestTarget): readonly RequestInfo[] =>
  SESSIONS.map((sub) => of(target, `get machines/${sub} m`, '', 'machines.example'))

interface Row {
  readonly scope: Scope
  readonly may: readonly RequestInfo[]
  readonly mayNot: readonly RequestInfo[]
}

const names = (role: string, rest: object = {}): Scope => ({ roles: [{ role, ...rest }] })

// biome-ignore format: a table
const ROWS: Readonly<Record<string, Row>> = {
  'a cluster (11.3)': { scope: { clusters: [{ cluster: 'c1' }] },
    may: [of(CLUSTER, 'delete pods m', 'x'), of(CLUSTER, 'create pods/exec m', 'x'), of(CLUSTER, 'get services/proxy m', 'x'), path(CLUSTER, 'get /metrics')],
    mayNot: [of({ kind: 'Cluster', cluster: 'c2' }, 'get pods'), of(MANAGEMENT, 'get pods', 'p-a'), of(SPACE, 'get pods'), of(VIRTUAL, 'get pods')] },
  'no cluster: what outlives the key (11.7)': { scope: { clusters: [{ cluster: '*' }] },
    may: [of(CLUSTER, 'get roles m')],
    mayNot: [of(CLUSTER, 'create serviceaccounts/token m', 'x'), of(CLUSTER, 'get nodes/proxy m'), of(CLUSTER, 'update certificatesigningrequests/approval m'),
      of(CLUSTER, 'bind roles m'), of(CLUSTER, 'escalate roles m'), of(CLUSTER, 'impersonate users m'), of(CLUSTER, 'approve signers m'), of(CLUSTER, 'impersonate:user-info users m')] },
  'a project: its claims are read and deleted, and not written (11.7, 28.2)': { scope: { projects: [{ project: 'a' }] },
    may: ['get', 'list', 'watch', 'delete', 'deletecollection'].map((verb) => of(MANAGEMENT, `${verb} accesskeyclaims m`, 'p-a')),
    mayNot: ['create', 'update', 'patch', 'no-such'].map((verb) => of(MANAGEMENT, `${verb} accesskeyclaims m`, 'p-a')) },
  'every resource: claims are read, and not written (11.7, 28.2)': { scope: { rules: [{ resources: [{ group: '*', resources: ['*'] }] }] },
    may: [of(MANAGEMENT, 'get accesskeyclaims m', 'p-a'), of(MANAGEMENT, 'update accesskeyclaims/status m', 'p-a')],
    mayNot: [of(MANAGEMENT, 'create accesskeyclaims m', 'p-a'), of(MANAGEMENT, 'patch accesskeyclaims m', 'p-a')] },
  'all resources: claims are read, and not written (11.7, 28.2)': { scope: { rules: [{ verbs: ['get', 'create'] }] },
    may: [of(MANAGEMENT, 'get accesskeyclaims m', 'p-a')], mayNot: [of(MANAGEMENT, 'create accesskeyclaims m', 'p-a')] },
  'claims by name: they are written (11.7, 28.2)': { scope: { rules: [{ resources: [{ resources: ['accesskeyclaims'] }] }] },
    may: [of(MANAGEMENT, 'create accesskeyclaims m', 'p-a'), of(MANAGEMENT, 'get accesskeyclaims m', 'p-a')], mayNot: [of(MANAGEMENT, 'create pods m', 'p-a')] },
  'a project (11.3)': { scope: { projects: [{ project: 'a' }] },
    may: [of(SPACE, 'delete pods m'), of(VIRTUAL, 'delete namespaces m'), of(MANAGEMENT, 'delete pods m', 'p-a'), of(MANAGEMENT, 'get namespaces p-a', 'p-a'), of(SPACE, 'get namespaces m')],
    mayNot: [of(CLUSTER, 'get pods'), of(MANAGEMENT, 'get pods', 'p-b'), of(MANAGEMENT, 'get pods'), of(MANAGEMENT, 'get nodes m'), of(MANAGEMENT, 'delete namespaces p-a', 'p-a'),
      of(MANAGEMENT, 'list namespaces'), of(SPACE, 'delete namespaces m'), of({ ...SPACE, project: 'b' }, 'get pods'), path(MANAGEMENT, 'get /metrics')] },
  'all projects (11.3)': { scope: { projects: [{ project: '*' }] },
    may: [of(MANAGEMENT, 'delete pods m', 'p-b'), of(SPACE, 'get pods')],
    mayNot: [of(MANAGEMENT, 'get pods', 'out'), of(MANAGEMENT, 'get pods'), of(MANAGEMENT, 'get nodes m'), path(MANAGEMENT, 'get /healthz')] },
  'a space (11.3)': { scope: { spaces: [{ project: 'a', space: 's1' }] },
    may: [of(SPACE, 'delete pods m'), of(SPACE, 'get namespaces m'), path(SPACE, 'get /metrics')],
    mayNot: [of(SPACE, 'delete namespaces m'), of({ ...SPACE, space: 's2' }, 'get pods'), of(VIRTUAL, 'get pods'), of(MANAGEMENT, 'get pods', 'p-a')] },
  'a virtual cluster (11.3)': { scope: { virtualClusters: [{ project: '*', virtualCluster: 'v1' }] },
    may: [of(VIRTUAL, 'delete namespaces m'), of({ ...VIRTUAL, project: 'b' }, 'get pods')],
    mayNot: [of({ ...VIRTUAL, virtualCluster: 'v2' }, 'get pods'), of(SPACE, 'get pods'), of(MANAGEMENT, 'get pods', 'p-a')] },
  'a role everywhere (11.4)': { scope: names('reader'),
    may: [of(MANAGEMENT, 'get pods m', 'x'), of(SPACE, 'get pods'), of(VIRTUAL, 'get deployments m', '', 'apps'), of(MANAGEMENT, 'get jobs/status m', '', 'apps'), path(MANAGEMENT, 'get /healthz/ping')],
    mayNot: [of(CLUSTER, 'get pods'), of(MANAGEMENT, 'list pods'), of(MANAGEMENT, 'get pods', '', 'batch'), of(MANAGEMENT, 'get pods/log m'), of(MANAGEMENT, 'get jobs m', '', 'apps'), path(MANAGEMENT, 'get /metrics')] },
  'a role in a project (11.4)': { scope: names('reader', { projects: ['a'] }),
    may: [of(MANAGEMENT, 'get pods m', 'p-a'), of(SPACE, 'get pods'), of(VIRTUAL, 'get pods')],
    mayNot: [of(MANAGEMENT, 'get pods m', 'p-b'), of(MANAGEMENT, 'get pods m'), of({ ...SPACE, project: 'b' }, 'get pods'), path(MANAGEMENT, 'get /healthz')] },
  'a role in virtual clusters (11.4)': { scope: names('reader', { virtualClusters: ['v1'] }),
    may: [of(VIRTUAL, 'get pods'), of(MANAGEMENT, 'get pods m', 'x')],
    mayNot: [of({ ...VIRTUAL, virtualCluster: 'v2' }, 'get pods'), of(SPACE, 'get pods')] },
  'a role and what it implies (11.4)': { scope: names('agent'),
    may: [of(MANAGEMENT, 'get nodes m'), of(MANAGEMENT, 'get services m')], mayNot: [of(MANAGEMENT, 'get pods m')] },
  'a role of all but what must be named (11.4, 11.7)': { scope: names('all'),
    may: [of(MANAGEMENT, 'delete pods m'), path(MANAGEMENT, 'get /metrics')],
    mayNot: [of(MANAGEMENT, 'create pods/exec m'), of(MANAGEMENT, 'get services/proxy m'), of(MANAGEMENT, 'create serviceaccounts/token m'), of(MANAGEMENT, 'bind roles m'), ...sessions(MANAGEMENT)] },
  'a role that names it (11.7)': { scope: names('opener'), may: [of(MANAGEMENT, 'create pods/exec m'), of(MANAGEMENT, 'bind roles m')], mayNot: [of(MANAGEMENT, 'create pods/attach m')] },
  'a role in every group (11.4)': { scope: names('every'),
    may: [of(MANAGEMENT, 'get pods m'), of(MANAGEMENT, 'get pods m', '', 'metrics.k8s.io'), of(MANAGEMENT, 'bind roles m', '', 'rbac.authorization.k8s.io')],
    mayNot: [of(MANAGEMENT, 'get services m')] },
  'no role that names it in no group (11.4, 11.7)': { scope: names('every'), may: [],
    mayNot: [of(MANAGEMENT, 'create pods/exec m'), of(MANAGEMENT, 'get nodes/proxy m'), of(MANAGEMENT, 'get machines/vnc m', '', 'machines.example'), of(MANAGEMENT, 'get pods/exec m', '', '*')] },
  'a role that names it in a group beside every one (11.7)': { scope: names('both'),
    may: [of(MANAGEMENT, 'create pods/exec m')], mayNot: [of(MANAGEMENT, 'create pods/exec m', '', 'apps')] },
  'a role on instances (11.4)': { scope: names('named'), may: [of(MANAGEMENT, 'get pods m')], mayNot: [of(MANAGEMENT, 'get pods n'), of(MANAGEMENT, 'list pods')] },
  'no role that is unknown (11.2, 11.4)': { scope: names('constructor'), may: [], mayNot: [of(MANAGEMENT, 'get pods'), path(MANAGEMENT, 'get /api')] },
  'verbs (11.5)': { scope: { rules: [{ verbs: ['get'] }] },
    may: [of(CLUSTER, 'get pods m', 'x', 'any'), path(MANAGEMENT, 'get /metrics')], mayNot: [of(CLUSTER, 'list pods'), of(CLUSTER, 'get nodes/proxy m'), of(CLUSTER, 'get pods/attach m')] },
  'a verb that is named (11.7)': { scope: { rules: [{ verbs: ['impersonate'], resources: [{ resources: ['users'] }] }] }, may: [of(MANAGEMENT, 'impersonate users m')], mayNot: [of(MANAGEMENT, 'impersonate groups m')] },
  'resources (11.5)': { scope: { rules: [{ resources: [{ resources: ['pods'] }, { group: 'apps', resources: ['*'] }] }] },
    may: [of(CLUSTER, 'delete pods m'), of(CLUSTER, 'get deployments/scale m', '', 'apps')],
    mayNot: [of(CLUSTER, 'get pods/log m'), of(CLUSTER, 'get pods m', '', 'batch'), of(CLUSTER, 'get x/proxy m', '', 'apps'), path(CLUSTER, 'get /metrics')] },
  'subresources (11.5)': { scope: { rules: [{ resources: [{ resources: ['pods/*', '*/scale'] }] }] },
    may: [of(CLUSTER, 'get pods/log m'), of(CLUSTER, 'get x/scale m')], mayNot: [of(CLUSTER, 'get pods m'), of(CLUSTER, 'create pods/exec m'), of(CLUSTER, 'get x m')] },
  'no session in a wildcard, whatever its group (11.7)': { scope: { rules: [{ resources: [{ group: 'machines.example', resources: ['*', 'machines/*', ...SESSIONS.map((sub) => `*/${sub}`)] }] }] },
    may: [of(CLUSTER, 'get machines/status m', '', 'machines.example'), of(CLUSTER, 'get console m', '', 'machines.example')], mayNot: sessions(CLUSTER) },
  'every group (11.5)': { scope: { rules: [{ resources: [{ group: '*' }] }] },
    may: [of(CLUSTER, 'get pods m'), of(CLUSTER, 'delete deployments m', 'x', 'apps'), of(CLUSTER, 'get deployments/scale m', 'x', 'apps'), of(CLUSTER, 'list things', '', 'any.example')],
    mayNot: [path(CLUSTER, 'get /metrics'), of(CLUSTER, 'impersonate users m'), of(CLUSTER, 'bind roles m', '', 'rbac.authorization.k8s.io')] },
  'resources of every group (11.5)': { scope: { rules: [{ verbs: ['get'], resources: [{ group: '*', resources: ['pods', 'jobs/*', '*/scale'], resourceNames: ['m'] }] }] },
    may: [of(CLUSTER, 'get pods m'), of(CLUSTER, 'get pods m', 'x', 'metrics.k8s.io'), of(CLUSTER, 'get jobs/status m', 'x', 'batch'), of(CLUSTER, 'get deployments/scale m', 'x', 'apps')],
    mayNot: [of(CLUSTER, 'get pods n'), of(CLUSTER, 'list pods'), of(CLUSTER, 'delete pods m'), of(CLUSTER, 'get jobs m', 'x', 'batch'), of(CLUSTER, 'get pods/log m'), of(CLUSTER, 'get services m')] },
  'no part of a group as wildcard (11.5)': { scope: { rules: [{ resources: [{ group: '*.example', resources: ['things'] }] }] }, may: [], mayNot: [of(CLUSTER, 'get things m', '', 'any.example'), of(CLUSTER, 'get things m')] },
  'nothing that must be named by every group (11.7)': { scope: { rules: [{ resources: [{ group: '*' }] }] }, may: [of(CLUSTER, 'get machines/status m', '', 'machines.example')],
    mayNot: [...sessions(CLUSTER), of(CLUSTER, 'create pods/exec m'), of(CLUSTER, 'create serviceaccounts/token m', 'x'), of(CLUSTER, 'get nodes/proxy m'), of(CLUSTER, 'update certificatesigningrequests/approval m', '', 'certificates.k8s.io')] },
  'nor where it is named of every group (11.7)': { scope: { rules: [{ resources: [{ group: '*', resources: ['pods/exec', 'serviceaccounts/token', 'nodes/proxy', ...SESSIONS.map((sub) => `machines/${sub}`)] }] }] }, may: [],
    mayNot: [...sessions(CLUSTER), of(CLUSTER, 'create pods/exec m'), of(CLUSTER, 'get pods/exec m', '', '*'), of(CLUSTER, 'create serviceaccounts/token m', 'x'), of(CLUSTER, 'get nodes/proxy m')] },
  'a session named beside every group (11.7)': { scope: { rules: [{ resources: [{ group: '*' }, { resources: ['pods/exec'] }] }] },
    may: [of(CLUSTER, 'create pods/exec m'), of(CLUSTER, 'get deployments m', '', 'apps')], mayNot: [of(CLUSTER, 'create pods/exec m', '', 'apps'), of(CLUSTER, 'create pods/attach m')] },
  'a verb that is named, of every group (11.7)': { scope: { rules: [{ verbs: ['bind'], resources: [{ group: '*', resources: ['roles'] }] }] },
    may: [of(CLUSTER, 'bind roles m', 'x', 'rbac.authorization.k8s.io')], mayNot: [of(CLUSTER, 'escalate roles m', 'x', 'rbac.authorization.k8s.io'), of(CLUSTER, 'bind clusterroles m', '', 'rbac.authorization.k8s.io')] },
  'no session in a verb (11.7)': { scope: { rules: [{ verbs: ['get'] }] }, may: [], mayNot: sessions(CLUSTER) },
  'sessions of another group that are named (11.7)': { scope: { rules: [{ resources: [{ group: 'machines.example', resources: SESSIONS.map((sub) => `machines/${sub}`) }] }] }, may: sessions(CLUSTER), mayNot: [] },
  'sessions in a list of targets (11.7)': { scope: { clusters: [{ cluster: 'c1' }] }, may: sessions(CLUSTER), mayNot: [] },
  'a session that is named (11.7)': { scope: { rules: [{ resources: [{ resources: ['pods/exec'] }] }] }, may: [of(CLUSTER, 'create pods/exec m')], mayNot: [of(CLUSTER, 'create pods/attach m')] },
  'instances (11.5)': { scope: { rules: [{ resources: [{ resources: ['pods'], resourceNames: ['m', 'n'] }], resourceNames: ['m'] }] }, may: [of(CLUSTER, 'get pods m')], mayNot: [of(CLUSTER, 'get pods n'), of(CLUSTER, 'list pods')] },
  'namespaces (11.5)': { scope: { rules: [{ namespaces: ['x', ''] }] }, may: [of(CLUSTER, 'get pods m', 'x'), of(CLUSTER, 'get nodes m')], mayNot: [of(CLUSTER, 'get pods m', 'y'), path(CLUSTER, 'get /metrics')] },
  'paths (11.5)': { scope: { rules: [{ nonResourceURLs: ['/metrics', '/healthz/*'] }] }, may: [path(CLUSTER, 'get /metrics'), path(CLUSTER, 'get /healthz/ping')], mayNot: [path(CLUSTER, 'get /healthz'), path(CLUSTER, 'get /metrics/x'), of(CLUSTER, 'get pods')] },
  'one cluster (11.5)': { scope: { rules: [{ cluster: 'c1', verbs: ['get'] }] }, may: [of(CLUSTER, 'get pods')], mayNot: [of({ kind: 'Cluster', cluster: 'c2' }, 'get pods'), of(MANAGEMENT, 'get pods')] },
  'virtual clusters (11.5)': { scope: { rules: [{ virtualClusters: [{ name: 'v1', namespace: 'p-a' }] }] }, may: [of(VIRTUAL, 'get pods')], mayNot: [of({ ...VIRTUAL, project: 'b' }, 'get pods'), of(SPACE, 'get pods'), of(MANAGEMENT, 'get pods', 'p-a')] },
  'targets (11.5)': { scope: { rules: [{ requestTargets: ['ProjectSpace'] }] }, may: [of(SPACE, 'get pods')], mayNot: [of(VIRTUAL, 'get pods'), of(MANAGEMENT, 'get pods')] },
  'two entries, each what it grants (11.2)': { scope: { clusters: [{ cluster: 'c1' }], spaces: [{ project: 'a', space: 's1' }] }, may: [of(CLUSTER, 'get pods'), of(SPACE, 'get pods')], mayNot: [of(VIRTUAL, 'get pods')] },
  'a sound entry beside others (11.2)': { scope: { clusters: [{ cluster: 'c1' }, { cluster: 'c*' }, { clustr: 'c2' }], lists: [1] } as never, may: [of(CLUSTER, 'get pods')], mayNot: [of({ kind: 'Cluster', cluster: 'c2' }, 'get pods')] },
  'nothing by a scope that sets nothing (11.1)': { scope: {}, may: [], mayNot: [of(CLUSTER, 'get pods'), path(CLUSTER, 'get /api')] },
}

describe.each(Object.entries(ROWS))('a scope grants %s', (_, { scope, may, mayNot }) => {
  test.each(may)('%j', (request) => expect(isAllowed(scope, request)).toBe(true))
  test.each(mayNot)('it does not grant %j', (request) =>
    expect(isAllowed(scope, request)).toBe(false),
  )
})

test('every request is allowed without a scope (11.1)', () => {
  expect(isAllowed(null, of(CLUSTER, 'impersonate users m'))).toBe(true)
})

describe('discovery (11.3)', () => {
  const scope: Scope = { clusters: [{ cluster: 'c1' }], spaces: [{ project: 'a', space: 's1' }] }
  const review = of(CLUSTER, 'create selfsubjectaccessreviews', '', 'authorization.k8s.io')
  // biome-ignore format: a table
  test.each([
    path(CLUSTER, 'get /api'), path(CLUSTER, 'get /apis/apps/v1'), path(SPACE, 'get /openapi/v3/api/v1'), path(CLUSTER, 'get /version/'), path(CLUSTER, 'head /version'),
    review, of(CLUSTER, 'create selfsubjectreviews', '', 'authentication.k8s.io'), of(SPACE, 'create selfsubjectrulesreviews', '', 'authorization.k8s.io'),
  ])('is allowed on a target on which the scope grants anything: %j', (request) =>
    expect(isAllowed(scope, request)).toBe(true))
  // biome-ignore format: a table
  test.each([
    path(MANAGEMENT, 'get /api'), path(VIRTUAL, 'get /version'), path({ kind: 'Cluster', cluster: 'c2' }, 'get /apis'), { ...review, target: MANAGEMENT },
  ])('is refused on every other target: %j', (request) => expect(isAllowed(scope, request)).toBe(false))
  // biome-ignore format: a table
  test.each([
    path(SPACE, 'delete /api'), path(SPACE, 'get /apisx'), of(SPACE, 'get selfsubjectaccessreviews', '', 'authorization.k8s.io'), of(SPACE, 'create subjectaccessreviews', '', 'authorization.k8s.io'),
    of(SPACE, 'create selfsubjectaccessreviews', '', 'example.com'),
  ])('does not include %j', (request) =>
    expect(isAllowed({ rules: [{ verbs: ['list'] }] }, request)).toBe(false))
  test('is allowed in the management cluster for a project', () => {
    expect(isAllowed({ projects: [{ project: 'a' }] }, path(MANAGEMENT, 'get /api'))).toBe(true)
  })
  test('is refused everywhere for a role without rules', () => {
    expect(isAllowed(names('none'), path(MANAGEMENT, 'get /api'))).toBe(false)
    expect(isAllowed(names('reader'), path(MANAGEMENT, 'get /api'))).toBe(true)
    expect(isAllowed(names('reader'), path(CLUSTER, 'get /api'))).toBe(false)
  })
})

test('a project is its namespace without a prefix, and `*` includes no cluster-scoped object (11.3)', () => {
  const bare = { projectNamespacePrefix: '' }
  const one: Scope = { projects: [{ project: 'a' }] }
  const all: Scope = { projects: [{ project: '*' }] }
  expect(isAllowed(one, of(MANAGEMENT, 'get pods m', 'a'), bare)).toBe(true)
  expect(isAllowed(all, of(MANAGEMENT, 'get pods m', 'a'), bare)).toBe(true)
  expect(isAllowed(all, of(MANAGEMENT, 'get nodes m'), bare)).toBe(false)
})

describe('the refusal describes the request and reveals nothing of the scope (11.1)', () => {
  const scope = parseScope({ clusters: [{ cluster: 'secret-cluster' }] })
  // biome-ignore format: a table
  test.each([
    [of(MANAGEMENT, 'get pods m', 'x'), '"get" on "pods" "m" in namespace "x" of the management cluster'],
    [of(CLUSTER, 'list deployments', '', 'apps'), '"list" on "deployments.apps" of cluster "c1"'],
    [of(SPACE, 'get pods/log m', 'x'), '"get" on "pods/log" "m" in namespace "x" of space "a/s1"'],
    [of(CLUSTER, 'get pods/exec m', '', 'apps'), '"get" on "pods/exec.apps" "m" of cluster "c1", which only a rule that names it grants'],
    [path(VIRTUAL, 'get /metrics'), '"get" on path "/metrics" of virtual cluster "a/v1"'],
    [of({ kind: 'Cluster', cluster: 'secret-cluster' }, 'bind roles m'), '"bind" on "roles" "m" of cluster "secret-cluster", which only a rule that names it grants'],
  ] as const)('%j', (request, text) => {
    const because = `the scope does not grant ${text}`
    expect(authorize(scope, request, SURROUNDINGS)).toEqual({ allowed: false, because })
  })
})
