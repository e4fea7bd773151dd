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
import { HttpFault } from '../http/request.ts'
import { creationSwitches, keptGroups } from '../people/groups.ts'
import { makeTeams, recordSignIn, userOfAccount } from '../people/writes.ts'
import type { ProviderGroupName, ProviderIdentity, SignInProvider } from '../providers/provider.ts'
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
  const location = await deps.beginnings.run(id, () => provider.begin(secrets, signal))
  const attempt = { provider: id, secrets, ...destination, begunMs }
  const surplus = surplusAttempts(request.cookies, keys, begunMs)
  const cookie = setCookie(
    attemptCookie(secrets.state),
    sealAttempt(attempt, keys, deps.random),
    ATTEMPT_MS / 1000,
  )
  const cookies = [...surplus.map(clearCookie), cookie]
  return { status: 303, content: { location: location.href }, cookies }
}

/** `GET /auth/<id>/callback`. */
export async function callbackRoute(context: RouteContext, id: string): Promise<RouteAnswer> {
  const { request, keys, deps, trace, signal } = context
  const provider = providerOf(context, id)
  const state = request.query.get('state') ?? ''
  const attempt = attemptOf(request.cookies, { provider: id, state }, keys, deps.clock.nowMs())
  if (attempt === null) throw new SignInRefused('attempt_unknown', 'no cookie of this attempt')
  trace.destination = attempt
  return deps.callbacks.run(id, async () => {
    trace.cookies.push(clearCookie(attemptCookie(state)))
    const callback = { parameters: request.query }
    const identity = await provider.finish(callback, attempt.secrets, signal)
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
  const creates = creationSwitches(settings)
  const account = { connector: id, subject: identity.subject, username: identity.username }
  const user = await userOfAccount(account, identity, {
    mayCreate: creates.users,
    deps: deps.people,
  })
  await recordSignIn(user, { connector: id, groups, email: identity.email }, deps.people)
  if (creates.teams) await makeTeams(id, groups, deps.people)
  return { user, groups }
}

/** Characters of a text that the schema of keys takes; a longer one is left out. */
const LONGEST_TEXT = 1024

/** Field `identity` of the key: a record of what the provider said, with the groups that were kept. It grants nothing. */
function keyIdentity(
  connector: string,
  identity: ProviderIdentity,
  groups: readonly ProviderGroupName[],
): Readonly<Record<string, unknown>> {
  const { userId, username, preferredUsername, email, emailVerified, extraClaims } = identity
  const texts = Object.entries({ userId, username, preferredUsername, email }).filter(
    ([, text]) => text !== null && text.length <= LONGEST_TEXT,
  )
  return {
    connector,
    ...Object.fromEntries(texts),
    emailVerified,
    ...(Object.keys(extraClaims).length === 0 ? {} : { extraClaims }),
    ...(groups.length === 0 ? {} : { groups: groups.map(({ name }) => name) }),
  }
}
