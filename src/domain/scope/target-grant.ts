// What lists of targets grant: all there is on them but what outlives the key (contract 11.3, 11.7).
import type { TargetGrant } from './entries.ts'
import { isResourceRequest, resourceOutlivesKey, verbOutlivesKey } from './explicit.ts'
import { resourceOf, type ScopedRequest, type Target } from './request.ts'

/** Whether the entry grants the request. */
export function targetGrants(grant: TargetGrant, request: ScopedRequest, prefix: string): boolean {
  const { target, verb } = request
  if (verbOutlivesKey(verb)) return false
  if (isResourceRequest(request) && resourceOutlivesKey(resourceOf(request))) return false
  if (target.kind === 'Management') {
    const [project = ''] = grant.names
    const isThere = grant.list === 'projects' && isInProject(project, request, prefix)
    return isThere && sparesNamespace(request)
  }
  if (!targetReaches(grant, target)) return false
  return target.kind !== 'ProjectSpace' || sparesNamespace(request)
}

/** Whether the entry is about the target; under Management a project is about its namespace. */
export function targetReaches({ list, names }: TargetGrant, target: Target): boolean {
  const [first = '', second = ''] = names
  switch (target.kind) {
    case 'Management':
      return list === 'projects'
    case 'Cluster':
      return list === 'clusters' && stands(first, target.cluster)
    case 'ProjectVirtualCluster':
      if (!stands(first, target.project)) return false
      return (
        list === 'projects' || (list === 'virtualClusters' && stands(second, target.virtualCluster))
      )
    case 'ProjectSpace':
      if (!stands(first, target.project)) return false
      return list === 'projects' || (list === 'spaces' && stands(second, target.space))
    default:
      return target satisfies never
  }
}

/** Whether the request is about something in the namespace of the project, `*` for that of any. */
export function isInProject(project: string, request: ScopedRequest, prefix: string): boolean {
  if (!isResourceRequest(request)) return false
  const { namespace } = request
  // With an empty prefix every namespace is one of a project's; what has none is in no project.
  if (namespace === '') return false
  return project === '*' ? namespace.startsWith(prefix) : namespace === `${prefix}${project}`
}

/** `*` as a whole value means all. */
const stands = (value: string, name: string): boolean => value === '*' || value === name

/** Of the Namespace object itself: get only. */
const sparesNamespace = (request: ScopedRequest): boolean =>
  !isResourceRequest(request) || request.resource !== 'namespaces' || request.verb === 'get'
