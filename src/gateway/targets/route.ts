// Which API a path belongs to (contract 9.1), told by its bytes alone: nothing is decoded yet.
import type { RequestTarget } from '../../domain/scope/request-info.ts'

/** Where a request-target leads; null = to no API that is served here. */
export type Route = {
  readonly target: RequestTarget
  /** What is behind the prefix, as it was sent: empty, or it begins with a slash or a question mark. */
  readonly rest: string
} | null

const MANAGEMENT = '/kubernetes/management'

/** The API that a request-target leads to. */
export function routeOf(requestTarget: string): Route {
  if (!requestTarget.startsWith(MANAGEMENT)) return null
  const rest = requestTarget.slice(MANAGEMENT.length)
  const ends = rest === '' || rest.startsWith('/') || rest.startsWith('?')
  return ends ? { target: { kind: 'Management' }, rest } : null
}
