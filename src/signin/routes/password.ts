// Signing in with a password (contract 25.2, 25.5).
import { isLockedOut } from '../../domain/people/user.ts'
import { PASSWORD } from '../../domain/settings/providers.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { formatTimestamp } from '../../domain/time.ts'
import type { RouteAnswer } from '../answers.ts'
import { signInName } from '../attempts/attempt.ts'
import { destinationOf } from '../attempts/destination.ts'
import { FORM_TYPE, HttpFault, JSON_TYPE, bodyFields } from '../http/request.ts'
import { readPasswordDigest } from '../people/password-hashes.ts'
import type { SignInUser } from '../people/sign-in-user.ts'
import { readUser, recordSignIn } from '../people/writes.ts'
import { NO_TOKENS } from '../sessions/session.ts'
import { type MadeKey, makeKey } from '../sessions/writes.ts'
import { completeSignIn, isKnownBrowser, storeSession } from './complete.ts'
import type { RouteContext } from './route.ts'

/** Largest form or JSON body. */
export const MAX_BODY_BYTES = 65_536
const STATE_BYTES = 32

/** `POST /auth/password/login`. */
export async function passwordRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state, deps, trace, signal } = context
  if (!state.hasPasswords) throw new HttpFault(404, 'passwords are off here')
  trace.provider = PASSWORD
  const fields = await bodyFields(request, [FORM_TYPE, JSON_TYPE], MAX_BODY_BYTES)
  const destination = destinationOf(new URLSearchParams([...fields]))
  trace.destination = destination
  const [username, password] = [fields.get('username'), fields.get('password')]
  if (!username || password === undefined)
    throw new HttpFault(400, 'the fields username and password are needed')
  const isKnown = isKnownBrowser(context, username)
  const address = request.remoteAddress
  const passwordDigest = deps.passwords.digest(username)
  // A name that no User has may be a password in the wrong field.
  if (passwordDigest !== null) trace.user = username
  await deps.passwordCheck.verify({ username, password, address, isKnown }, signal)
  const user = await currentUser(context, username, passwordDigest)
  trace.user = user.username
  await recordSignIn(user, { connector: PASSWORD, groups: [], email: null }, deps.people)
  const name = signInName(PASSWORD, deps.random(STATE_BYTES).toString('base64url'))
  const identity = { connector: PASSWORD, userId: user.username, username: user.username }
  const session = {
    name,
    subject: '',
    identity,
    passwordDigest,
    tokens: NO_TOKENS,
    refresh: null,
  }
  const person = { user, session }
  if (request.contentType !== JSON_TYPE) return completeSignIn(context, person, destination)
  const stored = await storeSession(context, person)
  const key = await makeKey(stored, { user, place: 'terminal' }, deps.sessions)
  trace.outcome = 'signed_in'
  return keyAnswer(key)
}

/**
 * The User as the API server has it now, whose password is still the one that was checked: the watches may be behind.
 *
 * @throws SignInRefused `wrong_password`, as for everybody who may not sign in
 */
async function currentUser(
  { deps }: RouteContext,
  username: string,
  passwordDigest: string | null,
): Promise<SignInUser> {
  const user = await readUser(username, deps.people)
  if (user === null || isLockedOut(user))
    throw new SignInRefused('wrong_password', 'the User is gone or disabled')
  const current = await readPasswordDigest(user, deps.sessions)
  if (current === null || current !== passwordDigest)
    throw new SignInRefused('wrong_password', 'the password was changed or taken away meanwhile')
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
