// The exchange of a code for a key by the terminal that asked for it (contract 25.2).
import { isLockedOut } from '../../domain/people/user.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { RouteAnswer } from '../answers.ts'
import { handedOver } from '../attempts/terminal.ts'
import { HttpFault, JSON_TYPE, bodyFields } from '../http/request.ts'
import { readUser } from '../people/writes.ts'
import { makeKey, readSession } from '../sessions/writes.ts'
import { MAX_BODY_BYTES, keyAnswer } from './password.ts'
import type { RouteContext } from './route.ts'

/** `POST /auth/cli/token`. */
export async function terminalTokenRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, keys, deps, trace } = context
  const fields = await bodyFields(request, [JSON_TYPE], MAX_BODY_BYTES)
  const [code, verifier] = [fields.get('code'), fields.get('code_verifier')]
  if (!code || !verifier) throw new HttpFault(400, 'the fields code and code_verifier are needed')
  const name = handedOver({ code, verifier }, keys, deps.clock.nowMs())
  const stored = name === null ? null : await readSession(name, deps.sessions)
  if (stored === null) throw new SignInRefused('code_refused', 'code, verifier or session')
  trace.of(stored.session)
  const user = await readUser(stored.session.user, deps.people)
  // Another User of this name may be another person.
  if (user === null || user.uid !== stored.session.userUid || isLockedOut(user))
    throw new SignInRefused('user_disabled', 'the User is gone or disabled')
  const key = await makeKey(stored, { user, place: 'terminal' }, deps.sessions)
  trace.outcome = 'signed_in'
  return keyAnswer(key)
}
