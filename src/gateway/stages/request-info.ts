// Computes RequestInfo before authentication, as a kube-apiserver does, and refuses requests that the gateway does not
// serve. Only authenticated callers get these refusals.
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { headersRefusal } from '../proxy/request-headers.ts'
import { type Stage, known } from '../request-context.ts'
import { parseRequest } from '../request/parse.ts'
import type { RouteFinder } from '../targets/routes.ts'

const NO_SUCH_API = refuse(ERRORS.noSuchApi)

/** The dependencies of the stage. */
export interface RouteDeps {
  readonly routeOf: RouteFinder
}

/** Reads the target and RequestInfo from the request-target (contract 9.1, 11.6). It never answers. */
export const requestInfo: Stage<RouteDeps> = (context, { routeOf }) => {
  const { method, target } = context.http
  const route = routeOf(target)
  context.parsing =
    route === null
      ? { ok: false, target: null, answer: NO_SUCH_API }
      : parseRequest(method, route.target, route.rest)
  return null
}

/** Refuses impersonation headers, and headers that two servers could read differently (contract 13.1). */
export const headerRefusal: Stage = ({ http }) => headersRefusal(http.rawHeaders)

/** Refuses paths that lead to no API, and requests that two servers could read differently. */
export const requestInfoRefusal: Stage = (context) => {
  const parsing = known(context, 'parsing')
  if (!parsing.ok) {
    context.target = parsing.target?.kind ?? 'Other'
    return parsing.answer
  }
  context.target = parsing.request.attributes.target.kind
  context.request = parsing.request
  return null
}
