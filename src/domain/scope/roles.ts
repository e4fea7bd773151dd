// The roles of scopes: a role grants the rules of its ClusterRole on the targets that the role names (contract 11.4,
// 11.7).
import { isInProject } from './grant-allows.ts'
import type { RoleGrant } from './parse.ts'
import {
  type NonResourceRequestInfo,
  type RequestInfo,
  type ResourceRequestInfo,
  type RequestTarget,
  isResourceRequest,
  resourceWithSubresource,
} from './request-info.ts'
import type { AllowedValues } from './rule.ts'
import { isEscalatingVerb, isSensitiveAccess } from './sensitive.ts'

/** A rule of a ClusterRole (rbac.authorization.k8s.io/v1 PolicyRule); absent lists are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** Returns the rules of ClusterRole `platform:scope:<role>`; empty when it does not exist. */
export type RoleRules = (role: string) => readonly PolicyRule[]

/** Whether the role applies to the request, and a rule of the role or of an implied role grants it. */
export const roleAllows = (
  grant: RoleGrant,
  request: RequestInfo,
  prefix: string,
  roleRules: RoleRules,
): boolean =>
  appliesToRequest(grant, request, prefix) &&
  rulesOf(grant, roleRules).some((rule) => policyRuleAllows(rule, request))

/** Whether the role grants anything on the target. */
export const roleAppliesTo = (
  grant: RoleGrant,
  target: RequestTarget,
  roleRules: RoleRules,
): boolean => appliesToTarget(grant, target) && rulesOf(grant, roleRules).length > 0

const rulesOf = ({ role }: RoleGrant, roleRules: RoleRules): readonly PolicyRule[] =>
  [role, ...(IMPLIED_ROLES.get(role) ?? [])].flatMap(roleRules)

const IMPLIED_ROLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['agent', ['network-peer']],
  ['vcluster', ['network-peer']],
])

/** In the management cluster, a role with projects applies only to their namespaces. */
function appliesToRequest(grant: RoleGrant, request: RequestInfo, prefix: string): boolean {
  const { projects } = grant
  if (request.target.kind !== 'Management') return appliesToTarget(grant, request.target)
  return projects === null || [...projects].some((project) => isInProject(project, request, prefix))
}

/** Whether the role names the target: it is enough that one of the two lists does. */
function appliesToTarget({ projects, virtualClusters }: RoleGrant, target: RequestTarget): boolean {
  if (target.kind === 'Management') return true
  if (target.kind === 'Cluster') return false
  if (projects === null && virtualClusters === null) return true
  if (listNames(projects, target.project)) return true
  return (
    target.kind === 'ProjectVirtualCluster' && listNames(virtualClusters, target.virtualCluster)
  )
}

const listNames = (limit: AllowedValues, name: string): boolean =>
  limit !== null && (limit.has('*') || limit.has(name))

function policyRuleAllows(rule: PolicyRule, request: RequestInfo): boolean {
  const { verbs } = rule
  const { verb } = request
  if (!verbs.includes(verb) && (isEscalatingVerb(verb) || !verbs.includes('*'))) return false
  return isResourceRequest(request) ? resourceMatches(rule, request) : pathMatches(rule, request)
}

function resourceMatches(
  { apiGroups = [], resources = [], resourceNames = [] }: PolicyRule,
  request: ResourceRequestInfo,
): boolean {
  const { group, subresource, name } = request
  const namesGroup = group !== '*' && apiGroups.includes(group)
  if (!namesGroup && !apiGroups.includes('*')) return false
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false
  const exact = resourceWithSubresource(request)
  // A sensitive resource must be named, and group `*` names none.
  if (isSensitiveAccess(request)) return namesGroup && resources.includes(exact)
  if (resources.includes(exact)) return true
  return resources.includes('*') || (subresource !== '' && resources.includes(`*/${subresource}`))
}

/** Matches paths like RBAC: a final `*` matches any rest. */
const pathMatches = (
  { nonResourceURLs = [] }: PolicyRule,
  { path }: NonResourceRequestInfo,
): boolean =>
  nonResourceURLs.some(
    (url) => url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1))),
  )

/** All roles; parsing maps `platform-cli` to platformCLI (contract 1.3). An unknown role grants nothing. */
export const SCOPE_ROLES = [
  'agent',
  'metrics-reader',
  'metrics-writer',
  'network-peer',
  'platformCLI',
  'vcluster',
  'workspace',
] as const

/** One of SCOPE_ROLES. */
type ScopeRoleName = (typeof SCOPE_ROLES)[number]

/** Name of the ClusterRole that defines what a role grants (contract 11.4). */
export const clusterRoleNameOf = (role: ScopeRoleName): string => `platform:scope:${role}`
