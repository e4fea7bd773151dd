// Looks after sessions every minute, and when a password changes, at the replica that leads (contract 25.4, 25.7).
import { ACCESS_KEYS, API_VERSION, APP_GRANT_TYPE, SECRETS, SESSION_TYPE } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import { type PasswordHashes, readPasswordDigest } from '../people/password-hashes.ts'
import type { SignInUsers } from '../people/sign-in-user.ts'
import { readUser } from '../people/writes.ts'
import { type SessionStep, sessionStep } from './plan.ts'
import { type SignInSession, sessionIn } from './session.ts'
import { type SessionDeps, endKey } from './writes.ts'

/** Options of sweepSessions. */
interface SweepOptions extends Pick<SessionDeps, 'client' | 'namespace' | 'clock' | 'log'> {
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  readonly users: SignInUsers
  readonly passwords: PasswordHashes
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
  const { secrets, passwords } = options
  const rounds = new Rounds(options)
  // Any other Secret may have a password.
  secrets.subscribe(({ before, after }) => {
    if (!WITHOUT_PASSWORDS.has((after ?? before)?.object.type)) rounds.wake()
  })
  await rounds.run(async () => {
    await sweepOnce(options)
    return passwords.isComplete ? EVERY_MS : LOOK_AGAIN_MS
  })
}

/**
 * One round over all sessions; none before the watches have delivered everything. A session that can't be written now has its
 * turn in the next round.
 */
async function sweepOnce(options: SweepOptions): Promise<void> {
  const { secrets, passwords, clock, log, signal } = options
  if (!passwords.isComplete) return
  const eventLoop = new EventLoopShare(clock)
  for (const { object: secret } of secrets.values()) {
    await eventLoop.waitForTurn()
    if (signal.aborted) return
    const session = sessionIn(secret)
    if (session === null) continue
    const isOwned = (secret.metadata.ownerReferences ?? []).length > 0
    const step = sessionStep({ session, isOwned }, passwords.digest(session.user), clock.nowMs())
    if (step.kind === 'keep') continue
    try {
      await perform(step, session, secret, options)
    } catch (err) {
      if (!isConflict(err) && !isNotFound(err))
        log.warn({ err, session: session.name }, 'a session cannot be written, trying again')
    }
  }
}

/** Whether the person has the password of the session by the API server: a watch may be behind a new password. */
async function isCurrent(
  { user, passwordDigest }: SignInSession,
  options: SweepOptions,
): Promise<boolean> {
  const found = await readUser(user, options)
  return found !== null && (await readPasswordDigest(found, options)) === passwordDigest
}

async function perform(
  step: Exclude<SessionStep, { kind: 'keep' }>,
  session: SignInSession,
  secret: Secret,
  options: SweepOptions,
): Promise<void> {
  const { client, log } = options
  const { name, namespace, uid, resourceVersion } = secret.metadata
  switch (step.kind) {
    case 'giveToKey': {
      const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid: step.keyUid }
      const metadata = { ...secret.metadata, ownerReferences: [owner] }
      await client.replace(SECRETS, { ...secret, metadata }, 'own')
      return
    }
    case 'end':
      if (step.reason === 'passwordChanged' && (await isCurrent(session, options))) return
      // The Secret first where only it says that there is no key: a store that is behind then ends none.
      if (step.reason === 'passwordChanged') await endKey(name, { client })
      await client.delete(SECRETS, { name, namespace }, { uid, resourceVersion }, 'end')
      if (step.reason === 'notTaken') await endKey(name, { client })
      log.info({ session: name, user: session.user, reason: step.reason }, 'session ended')
      return
    default:
      return step satisfies never
  }
}
