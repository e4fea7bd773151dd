// Discovery: requests for the API's resources and for the caller's own rights (contract 11.3).
import { isResourceRequest } from './explicit.ts'
import type { ScopedRequest } from './request.ts'

const ROOTS = ['/api', '/apis', '/openapi', '/version']

/** Reviews of the caller itself, by API group. */
const SELF_REVIEWS: ReadonlyMap<string, readonly string[]> = new Map([
  ['authentication.k8s.io', ['selfsubjectreviews']],
  ['authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']],
])

/** Whether it is discovery, OpenAPI, `/version` or a self review. */
export function isDiscovery(request: ScopedRequest): boolean {
  const { verb } = request
  if (!isResourceRequest(request)) {
    const { path } = request
    const isRead = verb === 'get' || verb === 'head'
    return isRead && ROOTS.some((root) => path === root || path.startsWith(`${root}/`))
  }
  const { group, resource, subresource } = request
  const isReview = SELF_REVIEWS.get(group)?.includes(resource) ?? false
  return isReview && verb === 'create' && subresource === ''
}
