// Looks after old sessions every minute, at the replica that leads (contract 25.4, 25.7).
import { ACCESS_KEYS, API_VERSION, SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { sleep } from '../../runtime/clock.ts'
import { type SessionStep, sessionStep } from './plan.ts'
import { type SignInSession, sessionIn } from './session.ts'
import { type SessionDeps, endKey } from './writes.ts'

/** Options of sweepSessions. */
export interface SweepOptions extends Pick<SessionDeps, 'client' | 'clock' | 'log'> {
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  /** SHA-256 in hex of the hash of a user's password; null = the user has none. */
  readonly passwordDigest: (username: string) => string | null
  /** Ends the work. */
  readonly signal: AbortSignal
}

const EVERY_MS = 60_000

/** Sweeps until the signal aborts. */
export async function sweepSessions(options: SweepOptions): Promise<void> {
  const { clock, signal } = options
  while (!signal.aborted) {
    await sweepOnce(options)
    await sleep(clock, EVERY_MS, signal)
  }
}

/** One round over all sessions. A session that can't be written now is looked at in the next round. */
export async function sweepOnce(options: SweepOptions): Promise<void> {
  const { secrets, passwordDigest, clock, log, signal } = options
  for (const { object: secret } of secrets.values()) {
    if (signal.aborted) return
    const session = sessionIn(secret)
    if (session === null) continue
    const isOwned = (secret.metadata.ownerReferences ?? []).length > 0
    const step = sessionStep({ session, isOwned }, passwordDigest(session.user), clock.nowMs())
    if (step.kind === 'keep') continue
    try {
      await perform(step, session, secret, options)
    } catch (err) {
      if (!isConflict(err) && !isNotFound(err))
        log.warn({ err, session: session.name }, 'a session cannot be written, trying again')
    }
  }
}

async function perform(
  step: Exclude<SessionStep, { kind: 'keep' }>,
  session: SignInSession,
  secret: Secret,
  { client, log }: SweepOptions,
): Promise<void> {
  const { name, namespace, uid, resourceVersion } = secret.metadata
  switch (step.kind) {
    case 'giveToKey': {
      const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid: step.keyUid }
      const metadata = { ...secret.metadata, ownerReferences: [owner] }
      await client.replace(SECRETS, { ...secret, metadata }, 'own')
      return
    }
    case 'end':
      await endKey(name, { client })
      await client.delete(SECRETS, { name, namespace }, { uid, resourceVersion }, 'end')
      log.info({ session: name, user: session.user, reason: step.reason }, 'session ended')
      return
    default:
      return step satisfies never
  }
}
