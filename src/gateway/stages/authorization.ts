// Whether the scope of the caller's key grants a request (contract 11.1). RBAC upstream decides after it.
import type { Caller } from '../../authn/caller.ts'
import { type ScopeContext, authorize } from '../../domain/scope/authorize.ts'
import {
  type RequestInfo,
  type TargetKind,
  isResourceRequest,
} from '../../domain/scope/request-info.ts'
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type Stage, known } from '../request-context.ts'
import type { ParsedRequest } from '../request/parse.ts'

/** What scopes are decided by. */
export interface AuthorizationDeps {
  /** null before settings in force are known: nothing is decided then. */
  readonly scopeContext: () => ScopeContext | null
  /** Called for every request that a scope denies, for metrics. */
  readonly scopeDenied: (target: TargetKind) => void
}

const SETTINGS_UNKNOWN = refuse(ERRORS.settingsUnknown)

/** Refuses what the scope of the caller's key does not grant. */
export const authorization: Stage<AuthorizationDeps> = (context, deps) => {
  const scopeContext = deps.scopeContext()
  if (scopeContext === null) return SETTINGS_UNKNOWN
  context.scopeContext = scopeContext
  const request = known(context, 'request')
  const { attributes } = request
  const creates = mayCreate(request, context.http.headers['content-type'])
  const refusal = authorizeRequest(known(context, 'caller'), attributes, creates, scopeContext)
  if (refusal !== null) deps.scopeDenied(attributes.target.kind)
  return refusal
}

/**
 * The refusal of what the caller's scope does not grant; null where it grants it (contract 11.1).
 *
 * @param creates whether the request creates where nothing is: then it needs `create` as well (11.6)
 */
export function authorizeRequest(
  { scope }: Pick<Caller, 'scope'>,
  attributes: RequestInfo,
  creates: boolean,
  scopeContext: ScopeContext,
): WholeAnswer | null {
  const asked = creates ? [attributes, { ...attributes, verb: 'create' }] : [attributes]
  for (const request of asked) {
    const decision = authorize(scope, request, scopeContext)
    if (!decision.allowed) return refuse(ERRORS.scopeDenied, { decision: decision.because })
  }
  return null
}

/** The patches that find an object or fail; any other may make one, as server-side apply does. */
const NEVER_CREATE: ReadonlySet<string> = new Set([
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
])

/**
 * Whether the request makes the object that it names where there is none: then a scope must grant `create`
 * as well (contract 11.6). What updates a subresource never does.
 *
 * @param contentType the header as it is sent on; undefined where there is none
 */
export function mayCreate(
  { attributes, method }: Pick<ParsedRequest, 'attributes' | 'method'>,
  contentType: string | undefined,
): boolean {
  if (!isResourceRequest(attributes) || attributes.name === '' || attributes.subresource !== '')
    return false
  if (method !== 'PATCH') return method === 'PUT'
  const [type = ''] = (contentType ?? '').split(';')
  return !NEVER_CREATE.has(type.trim().toLowerCase())
}
