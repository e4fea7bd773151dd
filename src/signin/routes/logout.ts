// Signing out (contract 25.2): the key of the browser ends, and the provider's own session where it has a page for that.
import type { RouteAnswer } from '../http/answers.ts'
import { SESSION_COOKIE, clearCookie } from '../http/cookies.ts'
import { browserSessionIn } from '../sessions/session.ts'
import { endKey, readSession } from '../sessions/writes.ts'
import type { RouteContext } from './route.ts'

/** `POST /auth/logout`. */
export async function logoutRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state, keys, deps, trace, signal } = context
  const cookies = [clearCookie(SESSION_COOKIE)]
  const session = browserSessionIn(request.cookies, keys, deps.clock.nowMs())
  if (session === null) return { status: 303, content: { location: '/login' }, cookies }
  const stored = await readSession(session.name, deps.sessions)
  await endKey(session.name, deps.sessions)
  trace.outcome = 'signed_out'
  trace.provider = stored?.session.provider ?? ''
  trace.user = stored?.session.user ?? ''
  const provider = state.providers.get(trace.provider)
  const location = await provider?.endSession(stored?.session.tokens.idToken ?? null, signal)
  return { status: 303, content: { location: location?.href ?? '/login' }, cookies }
}
