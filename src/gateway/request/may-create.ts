import { isResourceRequest } from '../../domain/scope/sensitive.ts'
import type { ApiRequest } from './api-request.ts'

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
  { attributes, method }: Pick<ApiRequest, 'attributes' | 'method'>,
  contentType: string | undefined,
): boolean {
  if (!isResourceRequest(attributes) || attributes.name === '' || attributes.subresource !== '')
    return false
  if (method !== 'PATCH') return method === 'PUT'
  const [type = ''] = (contentType ?? '').split(';')
  return !NEVER_CREATE.has(type.trim().toLowerCase())
}
