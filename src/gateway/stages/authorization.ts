import type { Caller } from '../../authn/caller.ts'
import { type ScopeContext, authorize } from '../../domain/scope/authorize.ts'
import { type RequestInfo, isResourceRequest } from '../../domain/scope/request-info.ts'
import { type WholeAnswer, failure } from '../../serving/http/answer.ts'
import type { ParsedRequest } from '../request/parse.ts'

/**
 * The refusal of what the caller's scope does not grant; null where it grants it (contract 11.1).
 *
 * @param creates whether the request creates where nothing is: then it needs `create` as well (11.6)
 */
export function authorizeRequest(
  { scope }: Caller,
  attributes: RequestInfo,
  creates: boolean,
  surroundings: ScopeContext,
): WholeAnswer | null {
  const asked = creates ? [attributes, { ...attributes, verb: 'create' }] : [attributes]
  for (const request of asked) {
    const decision = authorize(scope, request, surroundings)
    if (!decision.allowed) return failure('Forbidden', decision.because)
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
