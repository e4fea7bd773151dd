// The page where people choose how to sign in, or see as whom they are signed in, and the way out (contract 25.2).
import { withTimeout } from '../../runtime/clock.ts'
import type { RouteAnswer } from '../answers.ts'
import { cookieOfPath, parkedRequest } from '../apps/parked-request.ts'
import { destinationOf } from '../attempts/destination.ts'
import { SESSION_COOKIE, clearCookie } from '../http/cookies.ts'
import { type LoginChoices, loginPage, personPage } from '../pages/login.ts'
import type { SignInProvider } from '../providers/provider.ts'
import { type SignInSession, browserSessionIn } from '../sessions/session.ts'
import { changeSession, endKey, endedSession, readSession } from '../sessions/writes.ts'
import type { SignInState } from '../settings.ts'
import type { RouteContext } from './route.ts'

/** `GET /login`. */
export async function loginRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state } = context
  const destination = destinationOf(request.query)
  const app = cookieOfPath(destination.next ?? '')
  // A session plays no part for a terminal: a link to a person who is signed in still ends at the page that asks. And an app
  // sends people here only who are to sign in, again if need be.
  const asksAnyway = destination.terminal !== null || app !== null
  const person = asksAnyway ? null : await signedInPerson(context)
  const page =
    person === null
      ? loginPage(choicesOf(state), destination, appAddress(context, app))
      : personPage(person)
  return { status: 200, content: { page } }
}

/** Where the sign-in leads in the end, by the request of an app that waits in a cookie; null = to no app. */
function appAddress({ request, keys, deps }: RouteContext, cookie: string | null): URL | null {
  const parked = parkedRequest(cookie, request.cookies, keys, deps.clock.nowMs())
  return URL.parse(parked?.parameters.get('redirect_uri') ?? '')
}

const choicesOf = ({ providers, hasPasswords, legal }: SignInState): LoginChoices => ({
  providers: [...providers.values()].map(({ id, label }) => ({ id, label })),
  hasPasswords,
  legal,
})

/** A session that is good. */
interface SignedInSession {
  readonly session: SignInSession
  /** When its key ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
}

/** The session of the browser, if the gateway still takes its key: what ends a key ends the session. null = it has none. */
export async function signedInSession({
  request,
  keys,
  deps,
}: Pick<RouteContext, 'request' | 'keys' | 'deps'>): Promise<SignedInSession | null> {
  const held = browserSessionIn(request.cookies, keys, deps.clock.nowMs())
  const accepted = held && (await deps.gateway.askAbout(held.name, held.accessKey))
  const stored = held && accepted && (await readSession(held.name, deps.sessions))
  const isOver = stored?.session.endedMs !== null
  return accepted && stored && !isOver ? { session: stored.session, endsMs: accepted.endsMs } : null
}

/** The person of the browser's session, if the gateway still takes its key. */
async function signedInPerson(context: RouteContext) {
  const { state, deps, signal } = context
  const signedIn = await signedInSession(context)
  if (signedIn === null) return null
  const { provider, user } = signedIn.session
  const signOut = await endSessionAt(state.providers.get(provider), null, { deps, signal })
  return { user, endsMs: signedIn.endsMs, signOut }
}

/**
 * `POST /auth/logout`: the key of the browser ends, and the provider's own session where it has a page for that. A cookie whose
 * key can't be ended now stays, so that the person can try again.
 */
export async function logoutRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state, keys, deps, trace, signal } = context
  const cookies = [clearCookie(SESSION_COOKIE)]
  const session = browserSessionIn(request.cookies, keys, deps.clock.nowMs())
  if (session === null) return { status: 303, content: { location: '/login' }, cookies }
  const stored = await readSession(session.name, deps.sessions)
  trace.of(stored?.session)
  await endKey(session.name, deps.sessions)
  // Without its key it ends by itself, only later.
  const ended = () => endedSession(deps.clock.nowMs())
  await changeSession(session.name, ended, 'end', deps.sessions).catch(() => null)
  trace.outcome = 'signed_out'
  const provider = state.providers.get(trace.provider)
  const idToken = stored?.session.tokens.idToken ?? null
  const location = await endSessionAt(provider, idToken, { deps, signal })
  return { status: 303, content: { location: location?.href ?? '/login' }, cookies }
}

/** A provider that is away keeps no person from seeing as whom they are signed in, or from signing out. */
const END_SESSION_WITHIN_MS = 2000

/** Where the provider ends its own session; null = it has no such page, or does not say so in time. */
async function endSessionAt(
  provider: SignInProvider | undefined,
  idToken: string | null,
  { deps, signal }: Pick<RouteContext, 'deps' | 'signal'>,
): Promise<URL | null> {
  if (provider === undefined) return null
  try {
    return await withTimeout(deps.clock, END_SESSION_WITHIN_MS, (late) =>
      provider.endSession(idToken, AbortSignal.any([signal, late])),
    )
  } catch {
    return null
  }
}
