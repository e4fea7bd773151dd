// Signing in at a provider: the way there, and the callback (contract 25.2 to 25.4).
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { RouteAnswer } from '../answers.ts'
import {
  ATTEMPT_MS,
  attemptCookie,
  attemptOf,
  newSecrets,
  sealAttempt,
  signInName,
  surplusAttempts,
} from '../attempts/attempt.ts'
import { destinationOf } from '../attempts/destination.ts'
import { clearCookie, setCookie } from '../http/cookies.ts'
import { FORM_TYPE, HttpFault, type SignInRequest, bodyFields } from '../http/request.ts'
import { entrancePage } from '../pages/login.ts'
import { creationSwitches, keptGroups } from '../people/groups.ts'
import { makeTeams, recordSignIn, userOfAccount } from '../people/writes.ts'
import type {
  CallbackBinding,
  ProviderEntrance,
  ProviderIdentity,
  SignInProvider,
} from '../providers/provider.ts'
import { keyIdentity } from '../sessions/key-identity.ts'
import { confirmedAt } from '../sessions/refresh-state.ts'
import { completeSignIn } from './complete.ts'
import type { RouteContext } from './route.ts'

/** `GET /auth/<id>/login`. */
export async function beginRoute(context: RouteContext, id: string): Promise<RouteAnswer> {
  const { request, keys, deps, trace, signal } = context
  const provider = providerOf(context, id)
  const destination = destinationOf(request.query)
  trace.destination = destination
  trace.outcome = 'begun'
  const secrets = newSecrets(deps.random)
  const begunMs = deps.clock.nowMs()
  const entrance = await deps.beginnings.run(id, () => provider.begin(secrets, signal))
  const attempt = { provider: id, secrets, ...destination, begunMs }
  const surplus = surplusAttempts(request.cookies, keys, begunMs)
  const cookie = setCookie(
    attemptCookie(secrets.state),
    sealAttempt(attempt, keys, deps.random),
    // A provider that answers by a form comes from another site.
    { seconds: ATTEMPT_MS / 1000, sameSite: provider.binding.method === 'POST' ? 'None' : 'Lax' },
  )
  const cookies = [...surplus.map(clearCookie), cookie]
  return { ...entranceAnswer(entrance, provider.label), cookies }
}

const entranceAnswer = ({ url, form }: ProviderEntrance, label: string): RouteAnswer =>
  form === null
    ? { status: 303, content: { location: url.href } }
    : { status: 200, content: { page: entrancePage({ url, form, label }) } }

/** Largest form of a callback. */
const MAX_FORM_BYTES = 262_144

/** The parameters of a callback. @throws HttpFault */
async function callbackParameters(
  request: SignInRequest,
  { method }: CallbackBinding,
): Promise<URLSearchParams> {
  if (request.method !== method) throw new HttpFault(405, `only ${method}`, [method])
  if (method === 'GET') return request.query
  return new URLSearchParams([...(await bodyFields(request, [FORM_TYPE], MAX_FORM_BYTES))])
}

/** `/auth/<id>/callback`, by the method of the provider's binding. */
export async function callbackRoute(context: RouteContext, id: string): Promise<RouteAnswer> {
  const { request, keys, deps, trace, signal } = context
  const provider = providerOf(context, id)
  const parameters = await callbackParameters(request, provider.binding)
  const state = parameters.get(provider.binding.stateParameter) ?? ''
  const attempt = attemptOf(request.cookies, { provider: id, state }, keys, deps.clock.nowMs())
  if (attempt === null) throw new SignInRefused('attempt_unknown', 'no cookie of this attempt')
  trace.destination = attempt
  return deps.callbacks.run(id, async () => {
    trace.cookies.push(clearCookie(attemptCookie(state)))
    const identity = await provider.finish({ parameters }, attempt.secrets, signal)
    trace.subject = identity.subject
    deps.accounts.admit(id, identity.subject, deps.clock.monotonicMs())
    const { user, groups } = await personOf(context, id, identity)
    trace.user = user.username
    const session = {
      name: signInName(id, attempt.secrets.state),
      subject: identity.subject,
      identity: keyIdentity(id, identity, groups),
      passwordDigest: null,
      tokens: identity.tokens,
      refresh: provider.refresh?.isPossible(identity.tokens)
        ? confirmedAt(deps.clock.nowMs())
        : null,
    }
    return completeSignIn(context, { user, session }, attempt)
  })
}

/** @throws HttpFault 404 for an id that no provider has */
function providerOf({ state, trace }: RouteContext, id: string): SignInProvider {
  const provider = state.providers.get(id)
  if (provider === undefined) throw new HttpFault(404, 'no provider has this id')
  trace.provider = id
  return provider
}

/** Makes the User and the Teams of a person whom a provider vouches for. @throws SignInRefused */
async function personOf({ state, deps }: RouteContext, id: string, identity: ProviderIdentity) {
  const { settings, groupFilter } = state
  if (groupFilter === null)
    throw new SignInRefused('provider_unusable', 'a regular expression of groupsFilters')
  const groups = keptGroups(identity, groupFilter)
  const creates = creationSwitches(settings, id)
  const account = { connector: id, subject: identity.subject, username: identity.username }
  const user = await userOfAccount(account, identity, {
    mayCreate: creates.users,
    deps: deps.people,
  })
  await recordSignIn(user, { connector: id, groups, email: identity.email }, deps.people)
  if (creates.teams) await makeTeams(id, groups, deps.people)
  return { user, groups }
}
