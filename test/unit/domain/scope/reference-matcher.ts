// The reference matcher: what a scope grants, written after contract 11 line by line. It shares no
// code with src/domain/scope but the shape of a request. Discovery (11.3) is left out: it follows
// whatever else a scope grants on a target, so it cannot be the one thing that a child has more.
import type {
  Scope,
  ScopeCluster,
  ScopeProject,
  ScopeRole,
  ScopeRule,
  ScopeSpace,
  ScopeVirtualCluster,
} from '../../../../src/api/scope.gen.ts'
import type {
  NonResourceRequestInfo,
  RequestInfo,
  RequestTarget,
  ResourceRequestInfo,
} from '../../../../src/domain/scope/request-info.ts'

/** What the namespaces of projects begin with. */
export const PREFIX = 'p-'

/** Whether the scope lets the request pass (11.1, 11.2): the union of what its entries grant. */
export function grants(scope: Scope | null, request: RequestInfo): boolean {
  if (scope === null) return true
  const { roles = [], projects = [], spaces = [], virtualClusters = [], clusters = [] } = scope
  return (
    (scope.rules ?? []).some((rule) => ruleGrants(rule, request)) ||
    roles.some((role) => roleGrants(role, request)) ||
    (scope.allowPlatformCli === true && roleGrants({ role: 'platformCLI' }, request)) ||
    (!outlives(request) &&
      (projects.some((project) => projectGrants(project, request)) ||
        spaces.some((space) => spaceGrants(space, request)) ||
        virtualClusters.some((one) => virtualClusterGrants(one, request)) ||
        clusters.some((cluster) => clusterGrants(cluster, request))))
  )
}

const isResource = (request: RequestInfo): request is ResourceRequestInfo => !('path' in request)

const combined = ({ resource, subresource }: ResourceRequestInfo): string =>
  subresource === '' ? resource : `${resource}/${subresource}`

// 11.7, first sentence: neither wildcards nor target lists grant these.
const outlivesByVerb = ({ verb }: RequestInfo): boolean =>
  ['escalate', 'bind', 'impersonate'].includes(verb)
const outlivesByResource = (request: ResourceRequestInfo): boolean =>
  ['serviceaccounts/token', 'certificatesigningrequests/approval', 'nodes/proxy'].includes(
    combined(request),
  ) ||
  (combined(request) === 'accesskeyclaims' &&
    !['get', 'list', 'watch', 'delete', 'deletecollection'].includes(request.verb))

// 11.7, second sentence: for rules and roles these too.
const mustBeNamed = (request: ResourceRequestInfo): boolean =>
  outlivesByResource(request) ||
  ['proxy', 'exec', 'attach', 'portforward', 'console', 'vnc', 'usbredir'].includes(
    request.subresource,
  ) ||
  combined(request) === 'pods/ephemeralcontainers'

const outlives = (request: RequestInfo): boolean =>
  outlivesByVerb(request) || (isResource(request) && outlivesByResource(request))

// 11.3: `*` as a whole value means all; 11.2: an entry with an unknown field adds nothing.
const isNamed = (names: readonly (string | undefined)[] | undefined, name: string): boolean =>
  names?.some((one) => one === '*' || one === name) ?? false

const hasOnly = (entry: object, fields: readonly string[]): boolean =>
  Object.keys(entry).every((field) => fields.includes(field))

function projectGrants(entry: ScopeProject, request: RequestInfo): boolean {
  const { target } = request
  if (!hasOnly(entry, ['project'])) return false
  if (target.kind === 'ProjectVirtualCluster') return isNamed([entry.project], target.project)
  const isThere =
    target.kind === 'ProjectSpace'
      ? isNamed([entry.project], target.project)
      : isInProject([entry.project ?? ''], request)
  return isThere && sparesNamespace(request)
}

const spaceGrants = (entry: ScopeSpace, request: RequestInfo): boolean =>
  request.target.kind === 'ProjectSpace' &&
  isNamed([entry.project], request.target.project) &&
  isNamed([entry.space], request.target.space) &&
  sparesNamespace(request) &&
  hasOnly(entry, ['project', 'space'])

const virtualClusterGrants = (entry: ScopeVirtualCluster, { target }: RequestInfo): boolean =>
  target.kind === 'ProjectVirtualCluster' &&
  isNamed([entry.project], target.project) &&
  isNamed([entry.virtualCluster], target.virtualCluster) &&
  hasOnly(entry, ['project', 'virtualCluster'])

const clusterGrants = (entry: ScopeCluster, { target }: RequestInfo): boolean =>
  target.kind === 'Cluster' &&
  isNamed([entry.cluster], target.cluster) &&
  hasOnly(entry, ['cluster'])

/** Of a project's or space's Namespace object: get only. */
const sparesNamespace = (request: RequestInfo): boolean =>
  !isResource(request) || request.resource !== 'namespaces' || request.verb === 'get'

/** Under Management, in the namespace of one of the projects. */
const isInProject = (projects: readonly string[], request: RequestInfo): boolean =>
  request.target.kind === 'Management' &&
  isResource(request) &&
  projects.some((project) =>
    project === '*'
      ? request.namespace.startsWith(PREFIX)
      : request.namespace === `${PREFIX}${project}`,
  )

/** A rule of a ClusterRole. */
export interface ClusterRoleRule {
  readonly verbs: readonly string[]
  readonly groups?: readonly string[]
  readonly resources?: readonly string[]
  readonly paths?: readonly string[]
}

/** Stands for the ClusterRoles `platform:scope:<role>`; made so that no role is within another. */
export const CLUSTER_ROLES: ReadonlyMap<string, readonly ClusterRoleRule[]> = new Map([
  [
    'platformCLI',
    [
      { verbs: ['get', 'watch'], groups: ['*'], resources: ['*', 'pods/exec'] },
      { verbs: ['get'], paths: ['*'] },
    ],
  ],
  ['agent', [{ verbs: ['*'], groups: ['', '*'], resources: ['pods', 'pods/exec'] }]],
  [
    'vcluster',
    [
      { verbs: ['get', 'impersonate'], groups: [''], resources: ['jobs', 'nodes/proxy'] },
      { verbs: ['get'], groups: ['*'], resources: ['jobs', 'nodes/proxy', 'machines/vnc'] },
    ],
  ],
  ['network-peer', [{ verbs: ['delete'], groups: ['apps'], resources: ['deployments'] }]],
])

const impliedBy = (role: string): readonly string[] => {
  if (role === 'agent' || role === 'vcluster') return [role, 'network-peer']
  return [role === 'platform-cli' ? 'platformCLI' : role]
}

// 11.4
function roleGrants(entry: ScopeRole, request: RequestInfo): boolean {
  const { role = '', projects, virtualClusters } = entry
  if (projects?.length === 0 || virtualClusters?.length === 0) return false
  return (
    reaches(entry, request) &&
    impliedBy(role).some((name) =>
      CLUSTER_ROLES.get(name)?.some((rule) => clusterRoleGrants(rule, request)),
    ) &&
    hasOnly(entry, ['role', 'projects', 'virtualClusters'])
  )
}

function reaches({ projects, virtualClusters }: ScopeRole, request: RequestInfo): boolean {
  const { target } = request
  if (target.kind === 'Cluster') return false
  if (target.kind === 'Management') return projects === undefined || isInProject(projects, request)
  if (projects === undefined && virtualClusters === undefined) return true
  if (isNamed(projects, target.project)) return true
  return target.kind === 'ProjectVirtualCluster' && isNamed(virtualClusters, target.virtualCluster)
}

function clusterRoleGrants(rule: ClusterRoleRule, request: RequestInfo): boolean {
  const has = (names: readonly string[], name: string, byNameOnly: boolean): boolean =>
    names.includes(name) || (!byNameOnly && names.includes('*'))
  if (!has(rule.verbs, request.verb, outlivesByVerb(request))) return false
  if (!isResource(request)) return has(rule.paths ?? [], request.path, false)
  const byNameOnly = mustBeNamed(request)
  return (
    has(rule.groups ?? [], request.group, byNameOnly) &&
    has(rule.resources ?? [], combined(request), byNameOnly)
  )
}

// 11.5
function ruleGrants(rule: ScopeRule, request: RequestInfo): boolean {
  const { verbs = [], resources = [], namespaces = [], nonResourceURLs = [] } = rule
  if (!targetMatches(rule, request.target)) return false
  if (!verbs.includes(request.verb) && (verbs.length > 0 || outlivesByVerb(request))) return false
  if (!hasOnly(rule, FIELDS_OF_RULE)) return false
  if (resources.length > 0 || namespaces.length > 0)
    return isResource(request) && resourceMatches(rule, request)
  if (nonResourceURLs.length > 0) return !isResource(request) && pathMatches(rule, request)
  return !isResource(request) || !mustBeNamed(request)
}

const FIELDS_OF_RULE =
  'verbs resources resourceNames namespaces nonResourceURLs requestTargets cluster virtualClusters'.split(
    ' ',
  )

function targetMatches(rule: ScopeRule, target: RequestTarget): boolean {
  const { requestTargets = [], cluster = '', virtualClusters = [] } = rule
  if (requestTargets.length > 0 && !requestTargets.includes(target.kind)) return false
  if (cluster !== '' && (target.kind !== 'Cluster' || target.cluster !== cluster)) return false
  if (virtualClusters.length === 0) return true
  if (target.kind !== 'ProjectVirtualCluster') return false
  return virtualClusters.some(
    ({ name = '', namespace = '' }) =>
      (name === '' || name === target.virtualCluster) &&
      (namespace === '' || namespace === `${PREFIX}${target.project}`),
  )
}

function resourceMatches(rule: ScopeRule, request: ResourceRequestInfo): boolean {
  const { resources = [], resourceNames = [], namespaces = [] } = rule
  if (namespaces.length > 0 && !namespaces.includes(request.namespace)) return false
  if (resources.length === 0) return !mustBeNamed(request)
  if (resourceNames.length > 0 && !resourceNames.includes(request.name)) return false
  return resources.some((entry) => {
    const { group = '', resources: patterns = [], resourceNames: names = [] } = entry
    if (group !== '*' && group !== request.group) return false
    if (names.length > 0 && !names.includes(request.name)) return false
    if (mustBeNamed(request)) return group !== '*' && patterns.includes(combined(request))
    if (patterns.includes(combined(request))) return true
    if (patterns.length === 0 || patterns.includes('*')) return true
    if (request.subresource === '') return false
    return (
      patterns.includes(`${request.resource}/*`) || patterns.includes(`*/${request.subresource}`)
    )
  })
}

const pathMatches = (
  { nonResourceURLs = [] }: ScopeRule,
  { path }: NonResourceRequestInfo,
): boolean =>
  nonResourceURLs.some(
    (url) =>
      url === '*' || url === path || (url.endsWith('/*') && path.startsWith(url.slice(0, -1))),
  )

// The requests that it is asked about. Scopes use two names of each kind; a third one is granted only by a wildcard or
// by leaving a field out.

const TARGETS: readonly RequestTarget[] = [
  { kind: 'Management' },
  ...['c1', 'c2', 'c-other'].map((cluster) => ({ kind: 'Cluster', cluster }) as const),
  ...[
    ['a', 'v1'],
    ['a', 'v2'],
    ['a', 'v-other'],
    ['b', 'v1'],
    ['b', 'v2'],
    ['other', 'v1'],
    ['other', 'v2'],
    ['other', 'v-other'],
  ].flatMap(([project = '', name = '']) => [
    { kind: 'ProjectVirtualCluster', project, virtualCluster: name } as const,
    { kind: 'ProjectSpace', project, space: name.replace('v', 's') } as const,
  ]),
]

const VERBS = ['get', 'delete', 'impersonate', 'update']

const RESOURCES: readonly (readonly [group: string, resource: string, subresource: string])[] = [
  ['', 'pods', ''],
  ['', 'pods', 'log'],
  ['', 'pods', 'exec'],
  ['', 'jobs', ''],
  ['', 'jobs', 'log'],
  ['', 'services', 'proxy'],
  ['', 'nodes', 'proxy'],
  ['', 'serviceaccounts', 'token'],
  ['', 'namespaces', ''],
  ['', 'accesskeyclaims', ''],
  ['other', 'accesskeyclaims', ''],
  ['apps', 'pods', 'exec'],
  ['apps', 'deployments', ''],
  ['apps', 'deployments', 'scale'],
  ['apps', 'machines', 'vnc'],
  ['other', 'jobs', ''],
  ['other', 'pods', 'log'],
  ['other', 'pods', 'exec'],
]

/** Namespace and name: in a namespace or not, of an instance or of none. */
const PLACES: readonly (readonly [namespace: string, name: string])[] = [
  ['', 'm'],
  ['p-a', ''],
  ['p-a', 'm'],
  ['p-a', 'n'],
  ['p-a', 'other'],
  ['p-b', 'm'],
  ['p-other', 'n'],
  ['out', 'm'],
]

const PATHS = ['/', '/healthz', '/healthz/', '/healthz/a', '/healthz/a/b', '/other']

/** Every combination of target, verb, resource and name, and of path. */
export const UNIVERSE: readonly RequestInfo[] = TARGETS.flatMap((target) =>
  VERBS.flatMap((verb) => [
    ...PATHS.map((path) => ({ target, verb, path })),
    ...RESOURCES.flatMap(([group, resource, subresource]) =>
      PLACES.map(([namespace, name]) => {
        return { target, verb, group, version: 'v1', resource, subresource, namespace, name }
      }),
    ),
  ]),
)
