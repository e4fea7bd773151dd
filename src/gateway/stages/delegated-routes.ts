// Routes that are answered by other handlers, of any method and without a caller of the platform: the handler checks who
// asks. The first is the authorization webhook (contract 9.6).
import type { RequestHandler } from '../../serving/http/server.ts'
import type { AnsweredTarget, Stage } from '../request-context.ts'

/** A route of another handler. */
interface DelegatedRoute {
  /** As it is sent, byte by byte; with a slash at its end, all paths below it (as in Go's http.ServeMux). */
  readonly path: string
  /** The target label of its metrics. */
  readonly target: AnsweredTarget
  readonly answer: RequestHandler
}

/** The dependencies of the stage. */
export interface DelegatedRouteDeps {
  /** The first that matches answers. */
  readonly delegatedRoutes: readonly DelegatedRoute[]
}

/** Answers requests of delegated routes. */
export const delegatedRoute: Stage<DelegatedRouteDeps> = (context, { delegatedRoutes }) => {
  const route = delegatedRoutes.find(({ path }) => matches(path, context.path))
  if (route === undefined) return null
  context.target = route.target
  return route.answer(context.http)
}

const matches = (route: string, path: string): boolean =>
  route.endsWith('/') ? path.startsWith(route) : path === route
