// What no wildcard, of resources or of groups, no empty list and no list of targets grants (contract
// 11.7).
// Resources count in every group: a copy of one in another group is as strong as its original.

import { type ResourceRequest, resourceOf, type ScopedRequest } from './request.ts'

const LASTING_VERBS: ReadonlySet<string> = new Set(['escalate', 'bind', 'impersonate', 'approve'])

const LASTING_RESOURCES: ReadonlySet<string> = new Set([
  'serviceaccounts/token',
  'certificatesigningrequests/approval',
  'nodes/proxy',
])

/** Subresources of any resource that lead into what it runs: of pods, and of what other groups have, such as machines. */
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
 * Whether what the verb gives outlives the key: only a rule that names it grants it.
 *
 * `approve` is that of signers. The verbs of constrained impersonation (`impersonate:user-info`,
 * `impersonate-on:user-info:get`) count as `impersonate`.
 */
export const verbOutlivesKey = (verb: string): boolean =>
  LASTING_VERBS.has(verb) || /^impersonate(?:-on)?:/.test(verb)

/**
 * Whether what the resource (`x` or `x/sub`) gives outlives the key: only a rule that names it
 * grants it.
 */
export const resourceOutlivesKey = (resource: string): boolean => LASTING_RESOURCES.has(resource)

/**
 * Whether a rule or a role must name the resource (`x` or `x/sub`) to grant it: what outlives the
 * key, and sessions, which lists of targets grant. The wildcard `*\/exec` counts as a session:
 * whatever it is taken for, it stands for nothing but itself.
 */
export const mustBeNamed = (resource: string): boolean =>
  resourceOutlivesKey(resource) ||
  resource === 'pods/ephemeralcontainers' ||
  (resource.includes('/') && SESSIONS.has(resource.slice(resource.indexOf('/') + 1)))

/** Whether the request is of objects; else it is of a path. */
export const isResourceRequest = (request: ScopedRequest): request is ResourceRequest =>
  !('path' in request)

/** Whether what the request gives outlives the key, or must be named for another reason. */
export const isOutliving = (request: ScopedRequest): boolean =>
  verbOutlivesKey(request.verb) || (isResourceRequest(request) && mustBeNamed(resourceOf(request)))
