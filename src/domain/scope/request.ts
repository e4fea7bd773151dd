// A request as scope decisions see it. The same everywhere: on every target, in upgrades and in the
// webhook (contract 11.1).

/** Where requests go (contract 9.1): what requestTargets of a rule may name. */
export const TARGET_KINDS = [
  'Management',
  'Cluster',
  'ProjectVirtualCluster',
  'ProjectSpace',
] as const

/** One of TARGET_KINDS. */
export type TargetKind = (typeof TARGET_KINDS)[number]

/** The API server that a request goes to. */
export type Target =
  | { readonly kind: 'Management' }
  | { readonly kind: 'Cluster'; readonly cluster: string }
  | {
      readonly kind: 'ProjectVirtualCluster'
      readonly project: string
      readonly virtualCluster: string
    }
  | { readonly kind: 'ProjectSpace'; readonly project: string; readonly space: string }

/** Of objects of an API; attributes are those that the API server computes (contract 11.6). */
export interface ResourceRequest {
  readonly target: Target
  readonly verb: string
  /** Empty is the core group. */
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Empty for the resource itself. */
  readonly subresource: string
  /** Empty for what is not namespaced, and for a list over all namespaces. */
  readonly namespace: string
  /** Empty where the request names no instance, as lists and creates do. */
  readonly name: string
}

/** `x`, or `x/sub` of a subresource. */
export const resourceOf = ({ resource, subresource }: ResourceRequest): string =>
  subresource === '' ? resource : `${resource}/${subresource}`

/** Of a path that is no object's, such as `/healthz`. */
export interface NonResourceRequest {
  readonly target: Target
  readonly verb: string
  readonly path: string
}

/** One that has a path is a non-resource request. */
export type ScopedRequest = ResourceRequest | NonResourceRequest

/** Whether a scope lets a request pass; RBAC behind it may still refuse. */
export type Decision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly because: string }
