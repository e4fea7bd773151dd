// What lists of targets grant: everything there, except what outlives the key (contract 11.3, 11.7).
import type { TargetGrant } from './parse.ts'
import { type RequestInfo, type Target, resourceOf } from './request-info.ts'
import { isResourceRequest, resourceOutlivesKey, verbOutlivesKey } from './sensitive.ts'

/** Whether the entry grants the request. */
export function targetAllows(grant: TargetGrant, request: RequestInfo, prefix: string): boolean {
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

/** Whether the entry applies to the target; in the management cluster a project applies to its namespace. */
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

/** Whether the request is inside the namespace of the project; `*` means any project. */
export function isInProject(project: string, request: RequestInfo, prefix: string): boolean {
  if (!isResourceRequest(request)) return false
  const { namespace } = request
  // With an empty prefix every namespace belongs to a project; a request without one belongs to none.
  if (namespace === '') return false
  return project === '*' ? namespace.startsWith(prefix) : namespace === `${prefix}${project}`
}

/** `*` as the whole value means all. */
const stands = (value: string, name: string): boolean => value === '*' || value === name

/** The Namespace object itself: get only. */
const sparesNamespace = (request: RequestInfo): boolean =>
  !isResourceRequest(request) || request.resource !== 'namespaces' || request.verb === 'get'
