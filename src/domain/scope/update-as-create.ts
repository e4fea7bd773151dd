// Requests that need the right to create as well, because they may create an object or open a session (contract 11.6).
import { type ParsedScope, type ScopeContext, authorize } from './authorize.ts'
import {
  type RequestInfo,
  type ResourceRequestInfo,
  type ScopeDecision,
  isResourceRequest,
} from './request-info.ts'

/** Whether the request is for the object that it names, not for a subresource of it. */
export const isForNamedObject = (request: RequestInfo): request is ResourceRequestInfo =>
  isResourceRequest(request) && request.name !== '' && request.subresource === ''

/**
 * Whether the request needs `create` as well by its attributes: an update creates the object that it names if that does
 * not exist. A session in a Pod is authorized as `get`, or as `create` too, by the version of the API server.
 */
export const needsCreate = (request: RequestInfo): boolean =>
  opensSession(request) || (isForNamedObject(request) && request.verb === 'update')

/** Whether the request opens a session in a Pod. */
const opensSession = (request: RequestInfo): boolean =>
  isResourceRequest(request) &&
  request.group === '' &&
  request.resource === 'pods' &&
  POD_SESSIONS.has(request.subresource)

const POD_SESSIONS: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward'])

/**
 * Whether a scope grants a request, like `authorize`, and the create of the same object where the request needs that too.
 *
 * @param creates whether the request needs `create` as well
 */
export function authorizeWithCreate(
  grants: ParsedScope,
  request: RequestInfo,
  creates: boolean,
  context: ScopeContext,
): ScopeDecision {
  const decision = authorize(grants, request, context)
  return decision.allowed && creates
    ? authorize(grants, { ...request, verb: 'create' }, context)
    : decision
}
