// What a rule grants (contract 11.5, 11.7).
import {
  type ResourceRequestInfo,
  type RequestInfo,
  type Target,
  resourceOf,
} from './request-info.ts'
import type { Resources, Rule } from './rule.ts'
import { isResourceRequest, mustBeNamed, verbOutlivesKey } from './sensitive.ts'

/** Whether the rule grants the request: each of its fields must match. */
export function ruleAllows(rule: Rule, request: RequestInfo, prefix: string): boolean {
  const { verb, target } = request
  const isOfVerb = rule.verbs === null ? !verbOutlivesKey(verb) : rule.verbs.has(verb)
  if (!isOfVerb || !ruleReaches(rule, target, prefix)) return false
  if (!isResourceRequest(request))
    return rule.requests.has('paths') && rule.paths.some((one) => isUnder(one, request.path))
  return rule.requests.has('resources') && resourceMatches(rule, request)
}

/** Whether the rule applies to the target. */
export function ruleReaches(rule: Rule, target: Target, prefix: string): boolean {
  if (!rule.targets.has(target.kind)) return false
  if (rule.cluster !== null && (target.kind !== 'Cluster' || target.cluster !== rule.cluster))
    return false
  if (rule.virtualClusters === null) return true
  if (target.kind !== 'ProjectVirtualCluster') return false
  const there = { name: target.virtualCluster, namespace: `${prefix}${target.project}` }
  return rule.virtualClusters.some(
    ({ name, namespace }) =>
      (name === null || name === there.name) &&
      (namespace === null || namespace === there.namespace),
  )
}

function resourceMatches({ namespaces, resources }: Rule, request: ResourceRequestInfo): boolean {
  if (namespaces !== null && !namespaces.has(request.namespace)) return false
  if (resources === null) return !mustBeNamed(resourceOf(request))
  return resources.some((one) => holds(one, request))
}

function holds({ group, patterns, names }: Resources, request: ResourceRequestInfo): boolean {
  const { resource, subresource, name } = request
  if (group !== null && group !== request.group) return false
  if (names !== null && !names.has(name)) return false
  const exact = resourceOf(request)
  // A wildcard group names no resource.
  if (mustBeNamed(exact)) return group !== null && patterns.has(exact)
  if (patterns.has(exact)) return true
  // x/* means subresources only, not x itself.
  const isInWildcard = patterns.has(`${resource}/*`) || patterns.has(`*/${subresource}`)
  return patterns.has('*') || (subresource !== '' && isInWildcard)
}

/** Whether a pattern of nonResourceURLs matches the path. */
const isUnder = (pattern: string, path: string): boolean =>
  pattern === '*' ||
  pattern === path ||
  (pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1)))
