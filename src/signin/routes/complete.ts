// The end of every sign-in: a session, and its key for this browser or a code for a terminal (contract 25.2, 25.4).
import { fieldsOf } from '../../domain/json/json.ts'
import type { RouteAnswer } from '../answers.ts'
import type { Destination } from '../attempts/destination.ts'
import { handOverCode } from '../attempts/terminal.ts'
import { KNOWN_COOKIE, SESSION_COOKIE, setCookie } from '../http/cookies.ts'
import { handOverPage } from '../pages/login.ts'
import type { SignInUser } from '../people/sign-in-user.ts'
import { seal, unseal } from '../sealing/seal.ts'
import { type SignInSession, sealSession } from '../sessions/session.ts'
import { type StoredSession, createSession, makeKey } from '../sessions/writes.ts'
import type { RouteContext } from './route.ts'

/** A person who has signed in, with what the session is to say. */
interface ProvenPerson {
  readonly user: SignInUser
  readonly session: Pick<
    SignInSession,
    'name' | 'subject' | 'identity' | 'passwordDigest' | 'tokens' | 'refresh'
  >
}

/** Stores the session of a person. @throws SignInRefused `replayed` */
export function storeSession(
  { deps, trace }: RouteContext,
  { user, session }: ProvenPerson,
): Promise<StoredSession> {
  const whole = {
    ...session,
    provider: trace.provider,
    user: user.username,
    userUid: user.uid,
    madeMs: deps.clock.nowMs(),
    takenMs: null,
    keyUid: null,
    removedMs: null,
    endedMs: null,
  }
  return createSession(whole, deps.sessions)
}

/** Makes the session, and then what the destination asks for. @throws SignInRefused */
export async function completeSignIn(
  context: RouteContext,
  person: ProvenPerson,
  { next, terminal }: Destination,
): Promise<RouteAnswer> {
  const { keys, deps, trace } = context
  const { user } = person
  const stored = await storeSession(context, person)
  const nowMs = deps.clock.nowMs()
  if (terminal !== null) {
    trace.outcome = 'begun'
    const { challenge } = terminal
    const handOver = { session: stored.session.name, challenge, madeMs: nowMs }
    const code = handOverCode(handOver, keys, deps.random)
    return { status: 200, content: { page: handOverPage(user.username, code, terminal) } }
  }
  const { accessKey, endsMs } = await makeKey(stored, { user, place: 'browser' }, deps.sessions)
  trace.outcome = 'signed_in'
  const cookie = sealSession({ name: stored.session.name, accessKey, endsMs }, keys, deps.random)
  const seconds = endsMs === null ? LONGEST_COOKIE_SECONDS : (endsMs - nowMs) / 1000
  const cookies = [
    setCookie(SESSION_COOKIE, cookie, { seconds }),
    knownCookie(context, user.username),
  ]
  return { status: 303, content: { location: next ?? '/login' }, cookies }
}

/** Browsers keep no cookie for longer. */
const LONGEST_COOKIE_SECONDS = 400 * 86_400

const KNOWN_SECONDS = 90 * 86_400

/** The cookie of a browser that this person has signed in with. */
const knownCookie = ({ keys, deps }: RouteContext, username: string): string => {
  const known = { username, untilMs: deps.clock.nowMs() + KNOWN_SECONDS * 1000 }
  const value = seal(known, KNOWN_COOKIE, keys, deps.random)
  return setCookie(KNOWN_COOKIE, value, { seconds: KNOWN_SECONDS })
}

/** Whether this person has signed in with the browser before. */
export function isKnownBrowser({ request, keys, deps }: RouteContext, username: string): boolean {
  const value = request.cookies.get(KNOWN_COOKIE)
  const known = fieldsOf(value === undefined ? null : unseal(value, KNOWN_COOKIE, keys))
  const { untilMs } = known
  const isCurrent = typeof untilMs === 'number' && deps.clock.nowMs() < untilMs
  return isCurrent && known['username'] === username
}
