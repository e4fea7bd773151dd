// The session of the browser that asks (contract 25.4).
import { type SignInSession, browserSessionIn } from '../sessions/session.ts'
import { readSession } from '../sessions/writes.ts'
import type { RouteContext } from './route.ts'

/** A session that is good. */
interface SignedInSession {
  readonly session: SignInSession
  /** When its key ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
}

/** The session of the browser, if the gateway still takes its key: what ends a key ends the session. null = there is none. */
export async function signedInSession({
  request,
  keys,
  deps,
}: Pick<RouteContext, 'request' | 'keys' | 'deps'>): Promise<SignedInSession | null> {
  const held = browserSessionIn(request.cookies, keys, deps.clock.nowMs())
  const accepted = held && (await deps.gateway.askAbout(held.name, held.accessKey))
  const stored = held && accepted && (await readSession(held.name, deps.sessions))
  return accepted && stored ? { session: stored.session, endsMs: accepted.endsMs } : null
}
