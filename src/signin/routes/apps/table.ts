// Every path of the issuer of apps (contract 26.1). There are no others.
import { APPS_PATH } from '../../../domain/signin/app-routes.ts'
import type { RouteAnswer } from '../../answers.ts'
import { refusalOf, tokenRefusal } from '../../apps/refusal.ts'
import { HttpFault } from '../../http/request.ts'
import type { RouteContext, SignInRoute } from '../route.ts'
import { authorizeRoute } from './authorize.ts'
import { discoveryRoute, endSessionRoute, keysRoute } from './documents.ts'
import { servedIssuer } from './served.ts'
import { tokenRoute } from './token-endpoint.ts'
import { userinfoRoute } from './userinfo.ts'

interface AppRoute {
  readonly methods: readonly string[]
  readonly run: SignInRoute
}

const READS = ['GET', 'HEAD']
const BOTH = ['GET', 'POST']

const ROUTES: Readonly<Record<string, AppRoute>> = {
  '/.well-known/openid-configuration': { methods: READS, run: discoveryRoute },
  '/keys': { methods: READS, run: forPrograms(keysRoute) },
  '/authorize': { methods: ['GET'], run: authorizeRoute },
  '/token': { methods: ['POST'], run: tokenRoute },
  '/userinfo': { methods: BOTH, run: forPrograms(userinfoRoute) },
  '/end_session': { methods: BOTH, run: endSessionRoute },
}

/** Answers what it cannot do now as a program reads it. */
function forPrograms(run: SignInRoute): SignInRoute {
  return async (context) => {
    try {
      return await run(context)
    } catch (error) {
      const refused = refusalOf(error)
      const { remoteAddress: address, id: requestID } = context.request
      const { message: because, cause: err } = refused
      context.deps.sessions.log.warn({ because, err, address, requestID }, 'an app gets no answer')
      return tokenRefusal(refused)
    }
  }
}

/** Whether a path may be one of apps. */
export const isAppPath = (path: string): boolean => path.startsWith(`${APPS_PATH}/`)

/** Answers a path of apps. @throws HttpFault 404 where they are not served, 404, 405 */
export async function appRoute(context: RouteContext): Promise<RouteAnswer> {
  const { state, request } = context
  servedIssuer(state)
  const name = request.path.slice(APPS_PATH.length)
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined
  if (route === undefined) throw new HttpFault(404, 'this page does not exist')
  const { methods, run } = route
  if (!methods.includes(request.method))
    throw new HttpFault(405, `only ${methods.join(', ')}`, methods)
  return run(context)
}
