// Decides whether the scope of the caller's key grants a request (contract 11.1). RBAC decides after it.
import type { Caller } from '../../authn/caller.ts'
import { type ScopeContext, grantsAnything } from '../../domain/scope/authorize.ts'
import {
  authorizeWithCreate,
  isForNamedObject,
  needsCreate,
} from '../../domain/scope/update-as-create.ts'
import type { RequestInfo, TargetKind } from '../../domain/scope/request-info.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { type Stage, known } from '../request-context.ts'
import { forwardedContentType } from '../proxy/request-headers.ts'
import type { ParsedRequest } from '../request/parse.ts'
import type { TargetRegistry } from '../targets/resolver.ts'

/** The dependencies of the stage. */
export interface AuthorizationDeps {
  /** null until the settings in force are known: every request is refused until then. */
  readonly scopeContext: () => ScopeContext | null
  /** Called for every request that a scope denies, for metrics. */
  readonly scopeDenied: (target: TargetKind) => void
  readonly targets: TargetRegistry
}

const SETTINGS_UNKNOWN = refuse(ERRORS.settingsUnknown)

/** Refuses a request that the scope of the caller's key does not grant. */
export const authorization: Stage<AuthorizationDeps> = (context, deps) => {
  const scopeContext = deps.scopeContext()
  if (scopeContext === null) return SETTINGS_UNKNOWN
  context.scopeContext = scopeContext
  const request = known(context, 'request')
  const { attributes } = request
  const { scope } = known(context, 'caller')
  const contentType = forwardedContentType(context.http.headers)
  const creates = needsCreate(attributes) || mayCreate(request, contentType)
  const refusal = authorizeRequest({ scope }, attributes, creates, scopeContext)
  if (refusal === null) return null
  deps.scopeDenied(attributes.target.kind)
  if (!grantsAnything(scope, attributes.target, scopeContext)) return refusal
  const resolved = deps.targets.resolve(attributes.target)
  return !resolved.ok && resolved.isUnknown ? resolved.answer : refusal
}

/**
 * The refusal of a request that the caller's scope does not grant; null = granted (contract 11.1).
 *
 * @param creates whether the request may create the object that it names: it then needs `create` as well (11.6)
 */
export function authorizeRequest(
  { scope }: Pick<Caller, 'scope'>,
  attributes: RequestInfo,
  creates: boolean,
  scopeContext: ScopeContext,
): BufferedAnswer | null {
  const decision = authorizeWithCreate(scope, attributes, creates, scopeContext)
  return decision.allowed ? null : refuse(ERRORS.scopeDenied, { decision: decision.because })
}

/** The patch types that fail when the object does not exist. Any other may create it, as server-side apply does. */
const NEVER_CREATE: ReadonlySet<string> = new Set([
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
])

/**
 * Whether the request creates the object that it names if that does not exist: a scope must then grant `create` as well
 * (contract 11.6). A write of a subresource creates nothing.
 *
 * @param contentType as it is forwarded; undefined = none
 */
export function mayCreate(
  { attributes, method }: Pick<ParsedRequest, 'attributes' | 'method'>,
  contentType: string | undefined,
): boolean {
  if (!isForNamedObject(attributes)) return false
  if (method !== 'PATCH') return method === 'PUT'
  const [type = ''] = (contentType ?? '').split(';')
  return !NEVER_CREATE.has(type.trim().toLowerCase())
}
