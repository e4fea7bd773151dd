// What a role grants: the rules of its ClusterRole, where the role holds (contract 11.4, 11.7).
import type { RoleGrant } from './entries.ts'
import { isResourceRequest, mustBeNamed, verbOutlivesKey } from './explicit.ts'
import type { Limit } from './rule.ts'
import {
  type NonResourceRequest,
  resourceOf,
  type ResourceRequest,
  type ScopedRequest,
  type Target,
} from './request.ts'
import { isInProject } from './target-grant.ts'

/** A rule of a ClusterRole (rbac.authorization.k8s.io/v1 PolicyRule); absent lists are empty. */
export interface RoleRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** Rules of ClusterRole `platform:scope:<role>` of the management cluster; none where there is none. */
export type RoleRules = (role: string) => readonly RoleRule[]

/** Whether the role grants the request: it holds there, and a rule of its own or of an implied one does. */
export const roleGrants = (
  grant: RoleGrant,
  request: ScopedRequest,
  prefix: string,
  roleRules: RoleRules,
): boolean =>
  holdsFor(grant, request, prefix) &&
  rulesOf(grant, roleRules).some((rule) => clusterRoleGrants(rule, request))

/** Whether the role says anything about the target. */
export const roleReaches = (grant: RoleGrant, target: Target, roleRules: RoleRules): boolean =>
  holdsOn(grant, target) && rulesOf(grant, roleRules).length > 0

const rulesOf = ({ role }: RoleGrant, roleRules: RoleRules): readonly RoleRule[] =>
  [role, ...(IMPLIED.get(role) ?? [])].flatMap(roleRules)

const IMPLIED: ReadonlyMap<string, readonly string[]> = new Map([
  ['agent', ['network-peer']],
  ['vcluster', ['network-peer']],
])

/** Under Management a role with projects holds in their namespaces only. */
function holdsFor(grant: RoleGrant, request: ScopedRequest, prefix: string): boolean {
  const { projects } = grant
  if (request.target.kind !== 'Management') return holdsOn(grant, request.target)
  return projects === null || [...projects].some((project) => isInProject(project, request, prefix))
}

/** Of the two lists it is enough that one names the target. */
function holdsOn({ projects, virtualClusters }: RoleGrant, target: Target): boolean {
  if (target.kind === 'Management') return true
  if (target.kind === 'Cluster') return false
  if (projects === null && virtualClusters === null) return true
  if (names(projects, target.project)) return true
  return target.kind === 'ProjectVirtualCluster' && names(virtualClusters, target.virtualCluster)
}

const names = (limit: Limit, name: string): boolean =>
  limit !== null && (limit.has('*') || limit.has(name))

function clusterRoleGrants(rule: RoleRule, request: ScopedRequest): boolean {
  const { verbs } = rule
  const { verb } = request
  if (!verbs.includes(verb) && (verbOutlivesKey(verb) || !verbs.includes('*'))) return false
  return isResourceRequest(request) ? resourceMatches(rule, request) : pathMatches(rule, request)
}

function resourceMatches(
  { apiGroups = [], resources = [], resourceNames = [] }: RoleRule,
  request: ResourceRequest,
): boolean {
  const { group, subresource, name } = request
  const isOfGroup = group !== '*' && apiGroups.includes(group)
  if (!isOfGroup && !apiGroups.includes('*')) return false
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false
  const exact = resourceOf(request)
  // A wildcard for the group is one like others: it names nothing.
  if (mustBeNamed(exact)) return isOfGroup && resources.includes(exact)
  if (resources.includes(exact)) return true
  return resources.includes('*') || (subresource !== '' && resources.includes(`*/${subresource}`))
}

/** As RBAC has it: a star at the end stands for any rest. */
const pathMatches = ({ nonResourceURLs = [] }: RoleRule, { path }: NonResourceRequest): boolean =>
  nonResourceURLs.some(
    (url) => url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1))),
  )
