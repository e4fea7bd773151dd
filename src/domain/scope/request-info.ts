// The attributes of a request by which scopes decide, for every target, upgrades and the webhook (contract 11.1).
import { GROUP } from '../../api/names.ts'
import { quoteForMessage } from '../json/json.ts'

/** Kinds of targets (contract 9.1): the values of requestTargets in a rule. */
export const TARGET_KINDS = [
  'Management',
  'Cluster',
  'ProjectVirtualCluster',
  'ProjectSpace',
] as const

/** One of TARGET_KINDS. */
export type TargetKind = (typeof TARGET_KINDS)[number]

/** The API server that a request goes to. */
export type RequestTarget =
  | { readonly kind: 'Management' }
  | { readonly kind: 'Cluster'; readonly cluster: string }
  | {
      readonly kind: 'ProjectVirtualCluster'
      readonly project: string
      readonly virtualCluster: string
    }
  | { readonly kind: 'ProjectSpace'; readonly project: string; readonly space: string }

/** The target in a message, such as `cluster "east"`. */
export function targetText(target: RequestTarget): string {
  switch (target.kind) {
    case 'Management':
      return 'the management cluster'
    case 'Cluster':
      return `cluster ${quoteForMessage(target.cluster)}`
    case 'ProjectVirtualCluster':
      return `virtual cluster ${quoteForMessage(`${target.project}/${target.virtualCluster}`)}`
    case 'ProjectSpace':
      return `space ${quoteForMessage(`${target.project}/${target.space}`)}`
    default:
      return target satisfies never
  }
}

/** A request for resources, with the attributes that the API server computes (contract 11.6). */
export interface ResourceRequestInfo {
  readonly target: RequestTarget
  readonly verb: string
  /** Empty = the core group. */
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Empty for the resource itself. */
  readonly subresource: string
  /** Empty for cluster-scoped resources, and for a list over all namespaces. */
  readonly namespace: string
  /** Empty when the request names no instance, as in lists and creates. */
  readonly name: string
}

/** `x`, or `x/sub` for a subresource. */
export const resourceWithSubresource = ({
  resource,
  subresource,
}: Pick<ResourceRequestInfo, 'resource' | 'subresource'>): string =>
  subresource === '' ? resource : `${resource}/${subresource}`

/** A request for a path that is not a resource, such as `/healthz`. */
export interface NonResourceRequestInfo {
  readonly target: RequestTarget
  readonly verb: string
  readonly path: string
}

/** A request of either kind; `isResourceRequest` tells them apart. */
export type RequestInfo = ResourceRequestInfo | NonResourceRequestInfo

/** Whether the request is for a resource and not for another path. */
export const isResourceRequest = (request: RequestInfo): request is ResourceRequestInfo =>
  !('path' in request)

/** Whether the request is for objects of our own group: what is secret in them is hidden only where we serve them (12.4). */
export const isOwnGroup = (request: RequestInfo): boolean =>
  isResourceRequest(request) && request.group === GROUP

/** Whether a scope grants a request; RBAC upstream may still refuse it. */
export type ScopeDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly because: string }
