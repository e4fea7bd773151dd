// Verbs and resources that must be named: no wildcard, of resources or of groups, no empty list and no list of
// targets grants them (contract 11.7). They count in every group: a copy in another group is as strong.

import { type ResourceRequestInfo, type RequestInfo, resourceOf } from './request-info.ts'

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
export const verbOutlivesKey = (verb: string): boolean =>
  LASTING_VERBS.has(verb) || /^impersonate(?:-on)?:/.test(verb)

/** Whether access to the resource (`x` or `x/sub`) outlives the key, so that only a rule that names it grants it. */
export const resourceOutlivesKey = (resource: string): boolean => LASTING_RESOURCES.has(resource)

/**
 * Whether a rule or a role must name the resource (`x` or `x/sub`): what outlives the key, and sessions, which lists
 * of targets grant. `*\/exec` counts as a session, and matches nothing but itself.
 */
export const mustBeNamed = (resource: string): boolean =>
  resourceOutlivesKey(resource) ||
  resource === 'pods/ephemeralcontainers' ||
  (resource.includes('/') && SESSIONS.has(resource.slice(resource.indexOf('/') + 1)))

/** Whether it is a resource request; else it is one of a path. */
export const isResourceRequest = (request: RequestInfo): request is ResourceRequestInfo =>
  !('path' in request)

/** Whether a rule must name the verb or the resource of the request to grant it. */
export const isOutliving = (request: RequestInfo): boolean =>
  verbOutlivesKey(request.verb) || (isResourceRequest(request) && mustBeNamed(resourceOf(request)))
