// The attributes of a request that scope decisions use, for every target, upgrades and the webhook (contract 11.1).

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
export const resourceWithSubresource = ({ resource, subresource }: ResourceRequestInfo): string =>
  subresource === '' ? resource : `${resource}/${subresource}`

/** A request for a path that is no resource, such as `/healthz`. */
export interface NonResourceRequestInfo {
  readonly target: RequestTarget
  readonly verb: string
  readonly path: string
}

/** Either kind: one with a path is a non-resource request. */
export type RequestInfo = ResourceRequestInfo | NonResourceRequestInfo

/** Whether a scope grants a request; RBAC upstream may still refuse it. */
export type ScopeDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly because: string }

// Verbs and resources that must be named: no wildcard, of resources or of groups, no empty list and no list of
// targets grants them (contract 11.7). They count in every group: a copy in another group is as strong.

const LASTING_VERBS: ReadonlySet<string> = new Set(['escalate', 'bind', 'impersonate', 'approve'])

const LASTING_RESOURCES: ReadonlySet<string> = new Set([
  'serviceaccounts/token',
  'certificatesigningrequests/approval',
  'nodes/proxy',
])

/** Subresources that open a session inside a workload, of pods and of resources of other groups. */
const SESSIONS: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'portforward',
  'proxy',
  'console',
  'vnc',
  'usbredir',
])

/**
 * Whether the effect of the verb outlives the key, so that only a rule that names the verb grants it. `approve` is
 * the verb on signers. Constrained impersonation (`impersonate:user-info`, `impersonate-on:user-info:get`) counts.
 */
export const isEscalatingVerb = (verb: string): boolean =>
  LASTING_VERBS.has(verb) || /^impersonate(?:-on)?:/.test(verb)

/** Whether access to the resource (`x` or `x/sub`) outlives the key, so that only a rule that names it grants it. */
export const isEscalatingResource = (resource: string): boolean => LASTING_RESOURCES.has(resource)

/**
 * Whether a rule or a role must name the resource (`x` or `x/sub`): what outlives the key, and sessions, which lists
 * of targets grant. `*\/exec` counts as a session, and matches nothing but itself.
 */
export const isSensitiveResource = (resource: string): boolean =>
  isEscalatingResource(resource) ||
  resource === 'pods/ephemeralcontainers' ||
  (resource.includes('/') && SESSIONS.has(resource.slice(resource.indexOf('/') + 1)))

/** Whether it is a resource request; else it is one of a path. */
export const isResourceRequest = (request: RequestInfo): request is ResourceRequestInfo =>
  !('path' in request)

/** Whether a rule must name the verb or the resource of the request to grant it. */
export const isSensitiveRequest = (request: RequestInfo): boolean =>
  isEscalatingVerb(request.verb) ||
  (isResourceRequest(request) && isSensitiveResource(resourceWithSubresource(request)))
