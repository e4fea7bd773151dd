// Whether a rule, or an entry in a list of targets, grants a request (contract 11.3, 11.5, 11.7). Roles are in
// roles.ts.
import type { TargetGrant } from './parse.ts'
import {
  type RequestInfo,
  type ResourceRequestInfo,
  type RequestTarget,
  isResourceRequest,
  resourceWithSubresource,
} from './request-info.ts'
import type { RuleResources, RuleGrant } from './rule.ts'
import { isEscalatingAccess, isEscalatingVerb, isSensitiveAccess } from './sensitive.ts'

/** Whether the rule grants the request: each of its fields must match. */
export function ruleAllows(rule: RuleGrant, request: RequestInfo, prefix: string): boolean {
  const { verb, target } = request
  const matchesVerb = rule.verbs === null ? !isEscalatingVerb(verb) : rule.verbs.has(verb)
  if (!matchesVerb || !ruleAppliesTo(rule, target, prefix)) return false
  if (!isResourceRequest(request))
    return rule.requests.has('paths') && rule.paths.some((one) => pathMatches(one, request.path))
  return rule.requests.has('resources') && resourceMatches(rule, request)
}

/** Whether the rule applies to the target. */
export function ruleAppliesTo(rule: RuleGrant, target: RequestTarget, prefix: string): boolean {
  if (!rule.targets.has(target.kind)) return false
  if (rule.cluster !== null && (target.kind !== 'Cluster' || target.cluster !== rule.cluster))
    return false
  if (rule.virtualClusters === null) return true
  if (target.kind !== 'ProjectVirtualCluster') return false
  const virtualCluster = { name: target.virtualCluster, namespace: `${prefix}${target.project}` }
  return rule.virtualClusters.some(
    ({ name, namespace }) =>
      (name === null || name === virtualCluster.name) &&
      (namespace === null || namespace === virtualCluster.namespace),
  )
}

function resourceMatches(
  { namespaces, resources }: RuleGrant,
  request: ResourceRequestInfo,
): boolean {
  if (namespaces !== null && !namespaces.has(request.namespace)) return false
  if (resources === null) return !isSensitiveAccess(request)
  return resources.some((one) => entryMatches(one, request))
}

function entryMatches(
  { group, patterns, names }: RuleResources,
  request: ResourceRequestInfo,
): boolean {
  const { resource, subresource, name } = request
  if (group !== null && group !== request.group) return false
  if (names !== null && !names.has(name)) return false
  const exact = resourceWithSubresource(request)
  // A sensitive resource must be named, and group `*` names none.
  if (isSensitiveAccess(request)) return group !== null && patterns.has(exact)
  if (patterns.has(exact)) return true
  // x/* grants only the subresources of x, not x itself.
  const matchesWildcard = patterns.has(`${resource}/*`) || patterns.has(`*/${subresource}`)
  return patterns.has('*') || (subresource !== '' && matchesWildcard)
}

/** Whether a pattern of nonResourceURLs matches the path. */
const pathMatches = (pattern: string, path: string): boolean =>
  pattern === '*' ||
  pattern === path ||
  (pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1)))

/** Whether the entry grants the request: it grants all but escalating verbs and resources (contract 11.3, 11.7). */
export function targetAllows(grant: TargetGrant, request: RequestInfo, prefix: string): boolean {
  const { target, verb } = request
  if (isEscalatingVerb(verb)) return false
  if (isResourceRequest(request) && isEscalatingAccess(request)) return false
  if (target.kind === 'Management') {
    const [project = ''] = grant.names
    const isOwnNamespace = grant.list === 'projects' && isInProject(project, request, prefix)
    return isOwnNamespace && isAllowedOnNamespace(request)
  }
  if (!targetAppliesTo(grant, target)) return false
  return target.kind !== 'ProjectSpace' || isAllowedOnNamespace(request)
}

/** Whether the entry grants anything on the target; in the management cluster, a project applies to its namespace. */
export function targetAppliesTo({ list, names }: TargetGrant, target: RequestTarget): boolean {
  const [first = '', second = ''] = names
  switch (target.kind) {
    case 'Management':
      return list === 'projects'
    case 'Cluster':
      return list === 'clusters' && matchesName(first, target.cluster)
    case 'ProjectVirtualCluster':
      if (!matchesName(first, target.project)) return false
      return (
        list === 'projects' ||
        (list === 'virtualClusters' && matchesName(second, target.virtualCluster))
      )
    case 'ProjectSpace':
      if (!matchesName(first, target.project)) return false
      return list === 'projects' || (list === 'spaces' && matchesName(second, target.space))
    default:
      return target satisfies never
  }
}

/** Whether the request is in the namespace of the project; `*` means any project. */
export function isInProject(project: string, request: RequestInfo, prefix: string): boolean {
  if (!isResourceRequest(request)) return false
  const { namespace } = request
  // A request without a namespace belongs to no project, even if the prefix is empty.
  if (namespace === '') return false
  return project === '*' ? namespace.startsWith(prefix) : namespace === `${prefix}${project}`
}

/** `*` as the whole value matches every name. */
const matchesName = (value: string, name: string): boolean => value === '*' || value === name

/** Whether the request is allowed on Namespace objects: only get is; other resources are not limited here. */
const isAllowedOnNamespace = (request: RequestInfo): boolean =>
  !isResourceRequest(request) || request.resource !== 'namespaces' || request.verb === 'get'
