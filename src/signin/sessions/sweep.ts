// Looks after sessions every minute, and when a password changes, at the replica that leads (contract 25.4, 25.7).
import { ACCESS_KEYS, API_VERSION, APP_GRANT_TYPE, SECRETS, SESSION_TYPE } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import type { Warn } from '../../runtime/log-throttle.ts'
import { type PasswordHashes, readPasswordDigest } from '../people/password-hashes.ts'
import type { SignInUsers } from '../people/sign-in-user.ts'
import { clearStrayGroups } from '../people/stray-groups.ts'
import { readUser, recordGroups } from '../people/writes.ts'
import { type FollowedSignInSettings, isSetUp } from '../settings.ts'
import { reportIdentity } from './identity-reports.ts'
import { type SessionEndReason, type SessionStep, sessionStep } from './plan.ts'
import { type SignInSession, isSessionOf, sessionIn } from './session.ts'
import {
  type SessionDeps,
  type StoredSession,
  endKey,
  endedSession,
  updateSession,
} from './writes.ts'

/** Options of sweepSessions. */
interface SweepOptions extends Pick<SessionDeps, 'client' | 'namespace' | 'clock' | 'log'> {
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  readonly users: SignInUsers
  readonly passwords: PasswordHashes
  readonly settings: FollowedSignInSettings
  /** `--removed-provider-grace`, in milliseconds; null = sessions outlive their provider. */
  readonly graceMs: number | null
  /** All sessions fail together while the API server is away. */
  readonly warn: Warn
  /** Ends the work. */
  readonly signal: AbortSignal
}

/** Types of Secrets that come and go all the time. */
const WITHOUT_PASSWORDS: ReadonlySet<string | undefined> = new Set([SESSION_TYPE, APP_GRANT_TYPE])

const EVERY_MS = 60_000
/** While the watches begin. */
const LOOK_AGAIN_MS = 1000

/** Sweeps until the signal aborts. */
export async function sweepSessions(options: SweepOptions): Promise<void> {
  const { secrets, passwords, settings, graceMs } = options
  const rounds = new Rounds(options)
  // Any other Secret may have a password.
  secrets.subscribe(({ before, after }) => {
    if (!WITHOUT_PASSWORDS.has((after ?? before)?.object.type)) rounds.wake()
  })
  settings.subscribe(() => rounds.wake())
  // A provider that leaves the settings begins its grace at once, and a short grace ends in time.
  const everyMs = Math.max(Math.min(EVERY_MS, graceMs ?? EVERY_MS), LOOK_AGAIN_MS)
  await rounds.run(async () => {
    if (!passwords.isComplete) return LOOK_AGAIN_MS
    const eventLoop = new EventLoopShare(options.clock)
    await sweepOnce(options, eventLoop)
    await clearStrayGroups({ ...options, eventLoop })
    return everyMs
  })
}

/** One round over all sessions. A session that can't be written now has its turn in the next round. */
async function sweepOnce(options: SweepOptions, eventLoop: EventLoopShare): Promise<void> {
  const { secrets, graceMs, clock, warn, signal } = options
  for (const { object: secret } of secrets.values()) {
    await eventLoop.waitForTurn()
    if (signal.aborted) return
    const session = sessionIn(secret)
    if (session === null) continue
    const step = sessionStep(sweptOf(session, secret, options), graceMs, clock.nowMs())
    if (step.kind === 'keep') continue
    try {
      await perform(step, { session, secret }, options)
    } catch (err) {
      if (!isConflict(err) && !isNotFound(err))
        warn(
          'sessions',
          { err, session: session.name },
          'a session cannot be written, trying again',
        )
    }
  }
}

function sweptOf(
  session: SignInSession,
  { metadata: { ownerReferences = [] } }: Secret,
  { passwords, users, settings }: SweepOptions,
): Parameters<typeof sessionStep>[0] {
  const { user } = session
  const state = settings.current()
  return {
    session,
    isOwned: ownerReferences.length > 0,
    passwordDigest: passwords.digest(user),
    isNamed: isSessionOf(session, users.named(user) ?? null),
    isSetUp: state === null || isSetUp(session, state),
  }
}

/** Whether the person of the session is gone by the API server, too: the watches may be behind. */
async function isConfirmed(
  because: SessionEndReason | 'notTaken',
  session: SignInSession,
  options: SweepOptions,
): Promise<boolean> {
  if (because === 'notTaken' || because === 'providerRemoved') return true
  const found = await readUser(session.user, options)
  if (because === 'identityLeft') return !isSessionOf(session, found)
  const digest = found && (await readPasswordDigest(found, options))
  return digest !== session.passwordDigest
}

async function perform(
  step: Exclude<SessionStep, { kind: 'keep' }>,
  stored: StoredSession,
  options: SweepOptions,
): Promise<void> {
  const { client } = options
  const { metadata } = stored.secret
  const { name } = metadata
  switch (step.kind) {
    case 'giveToKey': {
      const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid: step.keyUid }
      const owned = { ...metadata, ownerReferences: [owner] }
      await client.replace(SECRETS, { ...stored.secret, metadata: owned }, 'own')
      return
    }
    case 'noteRemoved':
      await updateSession(stored, { removedMs: step.removedMs }, 'removed', { client })
      return
    case 'gone':
    case 'discard':
      if (await isConfirmed(step.because, stored.session, options))
        await endSession(step, stored, options)
      return
    default:
      return step satisfies never
  }
}

async function endSession(
  step: Extract<SessionStep, { kind: 'gone' | 'discard' }>,
  stored: StoredSession,
  options: SweepOptions,
): Promise<void> {
  const { client, namespace, clock, log } = options
  const { name, user, provider } = stored.session
  const { uid, resourceVersion } = stored.secret.metadata
  const { because } = step
  if (step.kind === 'gone') {
    const gone = { atMs: clock.nowMs(), reason: 'IdentityGone' } as const
    await reportIdentity({ name, uid: step.keyUid }, { gone }, options)
    if (because === 'identityLeft') await takeGroups(stored.session, options)
    await updateSession(stored, endedSession(gone.atMs), 'end', { client })
  } else {
    // The Secret first, as only it says that there is no key: a store that is behind then ends none.
    await client.delete(SECRETS, { name, namespace }, { uid, resourceVersion }, 'end')
    await endKey(name, { client })
  }
  log.info({ session: name, user, provider, reason: because }, 'session ended')
}

/** The groups of an identity go with it (contract 24.3), also where the User names another account of the connector. */
async function takeGroups(
  { user, userUid, provider }: SignInSession,
  options: SweepOptions,
): Promise<void> {
  const found = await readUser(user, options)
  if (found?.uid === userUid) await recordGroups(found, provider, [], options)
}
