// Verbs and resources that only a rule or role that names them grants (contract 11.7); wildcards, empty lists and lists
// of targets do not. They are sensitive in every API group, because another group may serve a resource as powerful.
import { ACCESS_KEY_CLAIMS } from '../../api/names.ts'
import {
  type RequestInfo,
  type ResourceRequestInfo,
  isResourceRequest,
  resourceWithSubresource,
} from './request-info.ts'

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

/**
 * Of a claim a write outlives the key: its author names by RBAC alone whom the claim's keys act as, without a scope. Whoever
 * could name themselves so would leave their own scope.
 */
const ESCALATING_WRITES: ReadonlySet<string> = new Set([ACCESS_KEY_CLAIMS.plural])

/** Verbs that make or change nothing, so that their effect ends with the key. */
const HARMLESS_VERBS: ReadonlySet<string> = new Set([
  'get',
  'list',
  'watch',
  'delete',
  'deletecollection',
])

/** Subresources that open a session in a workload: of pods, and of resources in other groups. */
const SESSION_SUBRESOURCES: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'portforward',
  'proxy',
  'console',
  'vnc',
  'usbredir',
])

/** Whether the subresource opens a session in a workload. */
export const isSessionSubresource = (subresource: string): boolean =>
  SESSION_SUBRESOURCES.has(subresource)

/**
 * Whether the effect of the verb outlives the key, so that only a rule that names the verb grants it. `approve` is a
 * verb on signers. Constrained impersonation counts (`impersonate:user-info`, `impersonate-on:user-info:get`).
 */
export const isEscalatingVerb = (verb: string): boolean =>
  ESCALATING_VERBS.has(verb) || /^impersonate(?:-on)?:/.test(verb)

/**
 * Whether access to the resource (`x` or `x/sub`) outlives the key, by some verb at least, so that only a rule that names it
 * grants it.
 */
export const isEscalatingResource = (resource: string): boolean =>
  ESCALATING_RESOURCES.has(resource) || ESCALATING_WRITES.has(resource)

/**
 * Whether a rule or role must name the resource (`x` or `x/sub`): escalating resources, and sessions in workloads.
 * Lists of targets grant sessions too. The pattern `*\/exec` is sensitive, and matches only itself.
 */
export const isSensitiveResource = (resource: string): boolean =>
  isEscalatingResource(resource) ||
  resource === 'pods/ephemeralcontainers' ||
  (resource.includes('/') && SESSION_SUBRESOURCES.has(resource.slice(resource.indexOf('/') + 1)))

/** Whether access to the resource outlives the key by the verb of the request. */
export const isEscalatingAccess = (request: ResourceRequestInfo): boolean =>
  isEscalatingResource(resourceWithSubresource(request)) && !isHarmless(request)

/** Whether a rule or role must name the resource of the request to grant it. */
export const isSensitiveAccess = (request: ResourceRequestInfo): boolean =>
  isSensitiveResource(resourceWithSubresource(request)) && !isHarmless(request)

const isHarmless = (request: ResourceRequestInfo): boolean =>
  ESCALATING_WRITES.has(resourceWithSubresource(request)) && HARMLESS_VERBS.has(request.verb)

/** Whether a rule must name the verb or the resource of the request to grant it. */
export const isSensitiveRequest = (request: RequestInfo): boolean =>
  isEscalatingVerb(request.verb) || (isResourceRequest(request) && isSensitiveAccess(request))
