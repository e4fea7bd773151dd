// Where an app sends a person (contract 26.3): back to it with a code, or first to the page where people sign in.
import type { RouteAnswer } from '../../answers.ts'
import { loginPath } from '../../attempts/destination.ts'
import { clearCookie, setCookie } from '../../http/cookies.ts'
import { HttpFault, withValues } from '../../http/request.ts'
import type { RouteContext } from '../route.ts'
import { signedInSession } from '../login.ts'
import type { SignInSession } from '../../sessions/session.ts'
import {
  type AuthorizationRequest,
  type RedirectedFault,
  authorizationRequest,
  expectedSubject,
  isFault,
} from '../../apps/authorization-request.ts'
import { sealCode } from '../../apps/codes.ts'
import { servedIssuer } from './served.ts'
import {
  PARKED_MS,
  cookieOfId,
  parkRequest,
  parkedRequest,
  surplusRequests,
} from '../../apps/parked-request.ts'
import { readPerson } from './person.ts'

/** A request, and since when it waits. */
interface Asked {
  readonly parameters: URLSearchParams
  /** The only person who may answer it, by uid; null = anybody. */
  readonly subject: string | null
  readonly begunMs: number
  /** The cookie in which it waited; null = it comes for the first time. */
  readonly cookie: string | null
}

/** `GET /oidc/apps/authorize`, also of a request that was parked. */
export async function authorizeRoute(context: RouteContext): Promise<RouteAnswer> {
  const { state, deps } = context
  const issuer = servedIssuer(state)
  const asked = askedIn(context)
  const { working } = deps.apps.clients()
  const request = authorizationRequest(asked.parameters, (id) => working.get(id))
  if (isFault(request)) {
    if (request.kind === 'page') throw new HttpFault(400, request.message)
    return errorAnswer(request.fault, issuer)
  }
  const session = await goodSession(context, request, asked.begunMs)
  const { redirectUri, state: appState, clientId } = request
  const isAnother = asked.subject !== null && session !== null && session.userUid !== asked.subject
  // Who has signed in for this request would only see the same page again.
  if (isAnother && session.madeMs > asked.begunMs) {
    const description = 'another person has signed in than id_token_hint names'
    return errorAnswer({ ...request, error: 'login_required', description }, issuer)
  }
  if (session === null || isAnother) return signInFirst(context, request, asked)
  const { userUid } = session
  if (!deps.apps.limits.admitsCode(userUid, clientId, deps.clock.monotonicMs())) {
    const description = 'this person comes too often, wait a minute'
    return errorAnswer({ ...request, error: 'temporarily_unavailable', description }, issuer)
  }
  const code = await newCode(context, request, session)
  const { remoteAddress: address, id: requestID } = context.request
  const fields = { client: clientId, user: session.user, address, requestID }
  deps.sessions.log.info(fields, 'code for an app')
  return {
    ...redirect(redirectUri, { code, ...stateOf(appState), iss: issuer }),
    cookies: asked.cookie === null ? [] : [clearCookie(asked.cookie)],
  }
}

/** @throws HttpFault 400 for one that waits no more */
function askedIn({ request: { query, cookies }, keys, deps }: RouteContext): Asked {
  const nowMs = deps.clock.nowMs()
  const resume = query.get('resume')
  if (resume === null) {
    const parameters = new URLSearchParams([...withValues(query)])
    return { parameters, subject: expectedSubject(parameters), begunMs: nowMs, cookie: null }
  }
  const cookie = cookieOfId(resume)
  const parked = parkedRequest(cookie, cookies, keys, nowMs)
  if (parked === null)
    throw new HttpFault(
      400,
      'This sign-in for an application has ended. Go back to it, and start again',
    )
  return { ...parked, cookie }
}

/** The session that answers a request; null = the person must sign in. */
async function goodSession(
  context: RouteContext,
  { signsInAnew, maxAgeSeconds }: AuthorizationRequest,
  begunMs: number,
): Promise<SignInSession | null> {
  const { deps } = context
  const session = (await signedInSession(context))?.session ?? null
  if (session === null) return null
  const ageMs = deps.clock.nowMs() - session.madeMs
  const isForIt = session.madeMs > begunMs
  const isRecent = maxAgeSeconds === null || ageMs <= maxAgeSeconds * 1000
  if (!isForIt && (signsInAnew || !isRecent)) return null
  return (await readPerson(session, deps)) === null ? null : session
}

/** Sends the person to sign in, and back here. */
function signInFirst(
  context: RouteContext,
  request: AuthorizationRequest,
  { cookie: waited, ...asked }: Asked,
): RouteAnswer {
  const { state, keys, deps } = context
  const issuer = servedIssuer(state)
  if (request.isSilent) {
    const description = 'the person must sign in'
    return errorAnswer({ ...request, error: 'login_required', description }, issuer)
  }
  const parking = parkRequest(asked, keys, deps.random)
  if (parking === null) {
    const description = 'state, nonce and redirect_uri are too long together'
    return errorAnswer({ ...request, error: 'invalid_request', description }, issuer)
  }
  const { name, value } = parking.cookie
  const { cookies } = context.request
  const surplus = surplusRequests(cookies, value.length, keys, deps.clock.nowMs())
  const cleared = new Set([...surplus, ...(waited === null ? [] : [waited])])
  return {
    status: 303,
    content: { location: loginPath({ next: parking.resumeAt, terminal: null }) },
    cookies: [
      ...[...cleared].map(clearCookie),
      setCookie(name, value, { seconds: PARKED_MS / 1000 }),
    ],
  }
}

const CODE_ID_BYTES = 32

function newCode(
  { keys, deps }: RouteContext,
  { clientId, redirectUri, challenge, scopes, nonce }: AuthorizationRequest,
  { user, userUid, name: session, madeMs: authMs }: SignInSession,
): Promise<string> {
  const id = deps.random(CODE_ID_BYTES).toString('base64url')
  const asked = { clientId, redirectUri, challenge, nonce, scope: scopes.join(' ') }
  const person = { user, userUid, session, authMs }
  return sealCode({ id, ...asked, ...person, madeMs: deps.clock.nowMs() }, keys)
}

const stateOf = (state: string | null): Readonly<Record<string, string>> =>
  state === null ? {} : { state }

const errorAnswer = (
  { redirectUri, state, error, description }: RedirectedFault,
  issuer: string,
): RouteAnswer =>
  redirect(redirectUri, { error, error_description: description, ...stateOf(state), iss: issuer })

/** Adds parameters to an address, whose own text stays as the app listed it. */
function redirect(uri: string, parameters: Readonly<Record<string, string>>): RouteAnswer {
  const query = new URLSearchParams(parameters).toString()
  const joint = uri.includes('?') ? '&' : '?'
  return { status: 303, content: { location: `${uri}${joint}${query}` } }
}
