// Verbs and resources that a rule or role must name (contract 11.7): no wildcard of resources or groups, no empty list
// and no list of targets grants them. They are sensitive in every API group: a copy in another group is as strong.
import { type RequestInfo, isResourceRequest, resourceWithSubresource } from './request-info.ts'

const ESCALATING_VERBS: ReadonlySet<string> = new Set([
  'escalate',
  'bind',
  'impersonate',
  'approve',
])

const ESCALATING_RESOURCES: ReadonlySet<string> = new Set([
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
  ESCALATING_VERBS.has(verb) || /^impersonate(?:-on)?:/.test(verb)

/** Whether access to the resource (`x` or `x/sub`) outlives the key, so that only a rule that names it grants it. */
export const isEscalatingResource = (resource: string): boolean =>
  ESCALATING_RESOURCES.has(resource)

/**
 * Whether a rule or role must name the resource (`x` or `x/sub`): escalating resources, and sessions in workloads,
 * which lists of targets grant too. `*\/exec` is sensitive, and matches only itself.
 */
export const isSensitiveResource = (resource: string): boolean =>
  isEscalatingResource(resource) ||
  resource === 'pods/ephemeralcontainers' ||
  (resource.includes('/') && SESSIONS.has(resource.slice(resource.indexOf('/') + 1)))

/** Whether a rule must name the verb or the resource of the request to grant it. */
export const isSensitiveRequest = (request: RequestInfo): boolean =>
  isEscalatingVerb(request.verb) ||
  (isResourceRequest(request) && isSensitiveResource(resourceWithSubresource(request)))
