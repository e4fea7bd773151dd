// One refresh of one session (contract 25.7): the session says that the provider is asked, the provider is asked once, new tokens
// are stored before anything else, and then what it said. Decisions are in outcome.ts.
import type { JsonMap } from '../../domain/json/json.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { isConflict, isNotFound, NotLeaderError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Warn } from '../../runtime/log-throttle.ts'
import { creationSwitches, keptGroups, mergedMemberships } from '../people/groups.ts'
import { type PeopleDeps, makeTeams, readUser, recordGroups } from '../people/writes.ts'
import type { ProviderIdentity, ProviderRefresh, ProviderTokens } from '../providers/provider.ts'
import { reportIdentity } from '../sessions/identity-reports.ts'
import { keyIdentity } from '../sessions/key-identity.ts'
import { askedAt, type RefreshState } from '../sessions/refresh-state.ts'
import type { SignInSession } from '../sessions/session.ts'
import {
  type StoredSession,
  changeSession,
  endedSession,
  updateSession,
} from '../sessions/writes.ts'
import type { SignInState } from '../settings.ts'
import { Asking } from './asking.ts'
import { confirmedUser, isGone, type PersonGone, refreshFailure } from './outcome.ts'

/** The parts that refreshes share. */
export interface RefreshDeps {
  readonly client: KubeClient
  /** The sign-in namespace. */
  readonly namespace: string
  readonly people: PeopleDeps
  /** @throws NotLeaderError when this process does not lead */
  readonly mayLead: () => void
  readonly clock: Clock
  readonly log: Log
  readonly warn: Warn
}

/** A session whose time has come, with the settings of now. */
export interface DueSession {
  readonly stored: StoredSession
  readonly refresh: RefreshState
  readonly keyUid: string
  readonly state: SignInState
  readonly provider: ProviderRefresh
}

/** How a refresh ended. `superseded`: another write of the session came first, and no provider was asked. */
export type RefreshResult =
  | 'refreshed'
  | 'identity_gone'
  | 'sign_in_again'
  | 'failed'
  | 'superseded'

/** The session is asked for again after so long at most: a process that was paused in between asks no more. */
const ASKS_WITHIN_MS = 5000
/** Every look-up of the provider together. */
const ANSWERED_WITHIN_MS = 60_000

/**
 * Refreshes a session.
 *
 * @param signal ends the call of the provider
 * @throws StatusError, NoResponseError while the API server is away
 */
export async function refreshSession(
  due: DueSession,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<RefreshResult> {
  const { stored, refresh: before, provider } = due
  const { session } = stored
  const { clock } = deps
  const beganMs = clock.monotonicMs()
  const marked = await markAsked(stored, before, deps)
  if (marked === null || !mayAsk(beganMs, deps)) return 'superseded'
  const asking = new Asking(marked, deps)
  try {
    const identity = await withTimeout(clock, ANSWERED_WITHIN_MS, (late) =>
      provider.ask(session, (tokens) => asking.keep(tokens), AbortSignal.any([signal, late])),
    )
    return await settle(identity, asking, { ...due, session: asking.session }, deps)
  } catch (error) {
    // The call may be given up while its tokens are being stored.
    await asking.settled()
    const failure = refreshFailure(error, hasDoubt(session.tokens, before, clock.nowMs()))
    if (failure.kind === 'gone')
      return endSession({ ...due, session: asking.session }, failure, deps)
    warnOf(error, session, deps)
    // An answer without tokens tells nothing of those that an earlier answer may have had.
    if (failure.isAnswered && !before.isUnanswered) await asking.noteAnswer()
    return 'failed'
  }
}

/** Whether a token that is refused may have been replaced, or have ended by its time: then the person need not be gone. */
function hasDoubt(
  { refreshToken, refreshEndsMs }: ProviderTokens,
  { isUnanswered }: RefreshState,
  nowMs: number,
): boolean {
  // GitHub's access token is replaced by none.
  const mayBeReplaced = isUnanswered && refreshToken !== null
  return mayBeReplaced || (refreshEndsMs !== undefined && refreshEndsMs <= nowMs)
}

/** Stores that the provider is asked; null = another process has written the session, and asks itself. */
async function markAsked(
  stored: StoredSession,
  before: RefreshState,
  { client, clock }: RefreshDeps,
): Promise<StoredSession | null> {
  try {
    return await updateSession(stored, { refresh: askedAt(before, clock.nowMs()) }, 'ask', {
      client,
    })
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return null
    throw error
  }
}

/** Whether this process may still ask: one that was paused meanwhile may have been followed by another. */
function mayAsk(beganMs: number, { clock, mayLead }: RefreshDeps): boolean {
  try {
    mayLead()
  } catch (error) {
    if (error instanceof NotLeaderError) return false
    throw error
  }
  return clock.monotonicMs() - beganMs < ASKS_WITHIN_MS
}

/** A session that has its answer. */
interface AnsweredSession extends Pick<DueSession, 'keyUid' | 'state'> {
  readonly session: SignInSession
}

/** Stores what the provider said: in the key, in the User, and in the session last. */
async function settle(
  identity: ProviderIdentity,
  asking: Asking,
  answer: AnsweredSession,
  deps: RefreshDeps,
): Promise<RefreshResult> {
  const { session, keyUid, state } = answer
  const { name, provider: connector } = session
  if (state.groupFilter === null)
    throw new SignInRefused('provider_unusable', 'a regular expression of groupsFilters')
  const user = confirmedUser(identity.subject, session, await readUser(session.user, deps.people))
  if (isGone(user)) return endSession(answer, user, deps)
  const groups = keptGroups(identity, state.groupFilter)
  // Too many are refused before the key is confirmed: it would live on with groups that the person has lost.
  mergedMemberships(user.memberships, connector, groups)
  const atMs = deps.clock.nowMs()
  const said = keyIdentity(connector, identity, groups) as JsonMap
  await reportIdentity({ name, uid: keyUid }, { refreshed: { atMs, identity: said } }, deps)
  await recordGroups(user, connector, groups, deps.people)
  if (creationSwitches(state.settings, connector).teams)
    await makeTeams(connector, groups, deps.people)
  await asking.confirm(atMs, identity)
  return 'refreshed'
}

/** Ends a session whose person is gone: the key first, then the groups, and the session with its tokens last. */
async function endSession(
  { session, keyUid }: AnsweredSession,
  { reason, because, losesGroups }: PersonGone,
  deps: RefreshDeps,
): Promise<RefreshResult> {
  const { people, clock, log } = deps
  const { name, user: username, userUid, provider: connector } = session
  const atMs = clock.nowMs()
  await reportIdentity({ name, uid: keyUid }, { gone: { atMs, reason } }, deps)
  const user = losesGroups ? await readUser(username, people) : null
  // Another User of that name may be another person.
  if (user?.uid === userUid) await recordGroups(user, connector, [], people)
  await changeSession(name, () => endedSession(atMs), 'end', deps)
  const fields = { session: name, user: username, provider: connector, reason, because }
  log.info(fields, 'session ended: the person is gone at the sign-in provider')
  return reason === 'IdentityGone' ? 'identity_gone' : 'sign_in_again'
}

/** One line a minute for each provider and reason: all of its sessions fail together. */
function warnOf(
  error: unknown,
  { name, provider, user }: SignInSession,
  { warn }: RefreshDeps,
): void {
  const [cause, said] =
    error instanceof SignInRefused
      ? [error.reason, { reason: error.reason, because: error.because }]
      : ['error', { err: error }]
  const fields = { session: name, provider, user, ...said }
  warn(`${provider} ${cause}`, fields, 'sessions could not be refreshed at the sign-in provider')
}
