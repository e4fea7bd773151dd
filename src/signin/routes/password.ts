// Signing in with a password (contract 25.2, 25.5).
import { USERS } from '../../api/names.ts'
import { hasExpectedName } from '../../domain/people/object-name.ts'
import { isLockedOut } from '../../domain/people/user.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { objectNameFor } from '../../people/people-index.ts'
import { signInName } from '../attempts/attempt.ts'
import type { RouteAnswer } from '../http/answers.ts'
import { HttpFault } from '../http/faults.ts'
import { FORM_TYPE, JSON_TYPE, bodyFields } from '../http/request.ts'
import { type SignInUser, signInUserOf } from '../people/sign-in-user.ts'
import { recordSignIn } from '../people/writes.ts'
import { NO_TOKENS } from '../sessions/session.ts'
import { type MadeKey, makeKey } from '../sessions/writes.ts'
import { completeSignIn, isKnownBrowser, storeSession } from './complete.ts'
import { destinationOf } from './login.ts'
import type { RouteContext } from './route.ts'

/** Largest form or JSON body. */
export const MAX_BODY_BYTES = 65_536
const STATE_BYTES = 32
const PROVIDER = 'password'

/** `POST /auth/password/login`. */
export async function passwordRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state, deps, trace, signal } = context
  if (!state.hasPasswords) throw new HttpFault(404, 'passwords are not a way to sign in here')
  trace.provider = PROVIDER
  const fields = await bodyFields(request, [FORM_TYPE, JSON_TYPE], MAX_BODY_BYTES)
  const [username, password] = [fields.get('username'), fields.get('password')]
  if (!username || password === undefined)
    throw new HttpFault(400, 'the fields username and password are needed')
  const isKnown = isKnownBrowser(context, username)
  const address = request.remoteAddress
  const passwordDigest = deps.passwordDigest(username)
  // A name that no User has may be a password in the wrong field.
  if (passwordDigest !== null) trace.user = username
  await deps.verifyPassword({ username, password, address, isKnown }, signal)
  const user = await currentUser(context, username)
  trace.user = user.username
  await recordSignIn(user, { connector: PROVIDER, groups: [], email: null }, deps.people)
  const name = signInName(PROVIDER, deps.random(STATE_BYTES).toString('base64url'))
  const identity = { connector: PROVIDER, userId: user.username, username: user.username }
  const session = { name, subject: '', identity, passwordDigest, tokens: NO_TOKENS }
  if (request.contentType !== JSON_TYPE)
    return completeSignIn(
      context,
      { user, session },
      destinationOf(new URLSearchParams([...fields])),
    )
  const stored = await storeSession(context, { user, session })
  const key = await makeKey(stored, { user, place: 'terminal' }, deps.sessions)
  trace.outcome = 'signed_in'
  return keyAnswer(key)
}

/** The User as the API server has it now. @throws SignInRefused `wrong_password`, as for everybody who may not sign in */
async function currentUser({ deps }: RouteContext, username: string): Promise<SignInUser> {
  const found = await deps.people.client.get(USERS, { name: objectNameFor(username) })
  const user = found && signInUserOf(found)
  const isUsable = user?.username === username && hasExpectedName(user) && !isLockedOut(user)
  if (user === null || !isUsable)
    throw new SignInRefused('wrong_password', 'the User is gone or disabled')
  return user
}

/** The answer with a key in clear: the only one that shows it. */
export const keyAnswer = ({ accessKey, endsMs }: MadeKey): RouteAnswer => ({
  status: 200,
  content: {
    json: {
      accessKey,
      ...(endsMs === null ? {} : { expirationTimestamp: formatTimestamp(endsMs) }),
    },
  },
})
