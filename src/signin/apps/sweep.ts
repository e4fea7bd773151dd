// Clears grants away that no key owns (contract 26.3), at the replica that leads. Those with a key go with it.
import { SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import { type SessionDeps, endKey } from '../sessions/writes.ts'
import { grantIn } from './grants.ts'
import { TOKEN_SECONDS } from './tokens.ts'

/** Options of sweepGrants. */
interface GrantSweepOptions extends Pick<SessionDeps, 'client' | 'clock' | 'log'> {
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  /** Ends the work. */
  readonly signal: AbortSignal
}

const EVERY_MS = 60_000
/** A grant outlives its access tokens, and by far its code: until then its name lets the code make no other. */
const KEPT_MS = 2 * TOKEN_SECONDS * 1000

/** Sweeps until the signal aborts. */
export async function sweepGrants(options: GrantSweepOptions): Promise<void> {
  await new Rounds(options).run(async () => {
    await sweepOnce(options)
    return EVERY_MS
  })
}

/** One round. A grant that can't be deleted now has its turn in the next. */
async function sweepOnce({
  secrets,
  client,
  clock,
  log,
  signal,
}: GrantSweepOptions): Promise<void> {
  const eventLoop = new EventLoopShare(clock)
  for (const { object: secret } of secrets.values()) {
    await eventLoop.waitForTurn()
    if (signal.aborted) return
    const grant = grantIn(secret)
    const isOwned = (secret.metadata.ownerReferences ?? []).length > 0
    if (grant === null || isOwned || clock.nowMs() - grant.madeMs < KEPT_MS) continue
    const { name, namespace, uid, resourceVersion } = secret.metadata
    try {
      await client.delete(SECRETS, { name, namespace }, { uid, resourceVersion }, 'end')
      // A process that died has made the key, and not given the Secret to it.
      if (grant.chain !== null) await endKey(name, { client })
    } catch (err) {
      if (!isConflict(err) && !isNotFound(err))
        log.warn({ err, grant: name }, 'a grant of an app cannot be deleted, trying again')
    }
  }
}
