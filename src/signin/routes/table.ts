// Every path of the sign-in process (contract 25.2). There are no others.
import { appRoute, isAppPath } from './apps/table.ts'
import { HttpFault } from '../http/request.ts'
import { loginRoute, logoutRoute } from './login.ts'
import { passwordRoute } from './password.ts'
import { beginRoute, callbackRoute } from './provider.ts'
import type { SignInRoute } from './route.ts'
import { terminalTokenRoute } from './terminal.ts'

/** A route that a request has found. */
export interface FoundRoute {
  readonly run: SignInRoute
  /**
   * Whether a POST may come from another site: a provider sends a browser so, and what apps send for themselves is no page's.
   */
  readonly takesAnyOrigin: boolean
}

const READS = ['GET', 'HEAD']
/** Each provider takes one of them. */
const CALLBACKS = ['GET', 'POST']
const SEGMENTS = /^\/auth\/([A-Za-z0-9._~-]+)\/([A-Za-z0-9._~-]+)$/

/** The route of a request. @throws HttpFault 404, 405 */
export function routeOf(method: string, path: string): FoundRoute {
  if (path === '/login') return only(READS, method, loginRoute)
  if (path === '/auth/logout') return only(['POST'], method, logoutRoute)
  const [, id = '', action = ''] = SEGMENTS.exec(path) ?? []
  if (id === 'password' && action === 'login') return only(['POST'], method, passwordRoute)
  if (id === 'cli' && action === 'token') return only(['POST'], method, terminalTokenRoute)
  if (action === 'login') return only(['GET'], method, (context) => beginRoute(context, id))
  if (action === 'callback')
    return {
      ...only(CALLBACKS, method, (context) => callbackRoute(context, id)),
      takesAnyOrigin: true,
    }
  if (isAppPath(path)) return { run: appRoute, takesAnyOrigin: true }
  throw new HttpFault(404, 'this page does not exist')
}

function only(methods: readonly string[], method: string, run: SignInRoute): FoundRoute {
  if (!methods.includes(method)) throw new HttpFault(405, `only ${methods.join(', ')}`, methods)
  return { run, takesAnyOrigin: false }
}
