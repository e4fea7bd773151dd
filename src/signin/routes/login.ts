// The page where people choose how to sign in, or see as whom they are signed in (contract 25.2).
import { nextPath } from '../attempts/next-path.ts'
import { terminalOf } from '../attempts/terminal.ts'
import type { RouteAnswer } from '../http/answers.ts'
import { HttpFault } from '../http/faults.ts'
import { legalHtml } from '../pages/legal.ts'
import { type Destination, type LoginChoices, loginPage, personPage } from '../pages/login.ts'
import { browserSessionIn } from '../sessions/session.ts'
import { readSession } from '../sessions/writes.ts'
import type { SignInState } from '../settings.ts'
import type { RouteContext } from './route.ts'

/** The destination in the parameters of a page or a form. @throws HttpFault 400 */
export function destinationOf(parameters: URLSearchParams): Destination {
  const terminal = terminalOf(parameters)
  if (typeof terminal === 'string') throw new HttpFault(400, terminal)
  return { next: nextPath(parameters.get('next')), terminal }
}

/** `GET /login`. */
export async function loginRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, state } = context
  const destination = destinationOf(request.query)
  // A session plays no part for a terminal: a link to a person who is signed in still ends at the page that asks.
  const person = destination.terminal === null ? await signedInPerson(context) : null
  const page = person === null ? loginPage(choicesOf(state), destination) : personPage(person)
  return { status: 200, content: { page } }
}

/** What a person can choose. */
export function choicesOf({ providers, hasPasswords, settings }: SignInState): LoginChoices {
  const { legalTemplate } = settings.uiSettings ?? {}
  return {
    providers: [...providers.values()].map(({ id, label }) => ({ id, label })),
    hasPasswords,
    legal: legalTemplate ? legalHtml(legalTemplate) : null,
  }
}

/** The person of the browser's session, if the gateway still takes its key. */
async function signedInPerson({ request, state, keys, deps, signal }: RouteContext) {
  const session = browserSessionIn(request.cookies, keys, deps.clock.nowMs())
  if (session === null) return null
  const accepted = await deps.gateway.askAbout(session.name, session.accessKey)
  const stored = accepted && (await readSession(session.name, deps.sessions))
  if (accepted === null || stored === null) return null
  const { provider, user } = stored.session
  const signOut = await state.providers.get(provider)?.endSession(null, signal)
  return { user, endsMs: accepted.endsMs, signOutOrigin: signOut?.origin ?? null }
}
