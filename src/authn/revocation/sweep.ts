// Deletes the ConfigMaps of revoked tokens whose hour is over (contract 7.4).
import { CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { isPastRetention } from '../../domain/token/revocation.ts'
import { NotLeaderError, isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { Store, FullObject } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RateLimiter } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'

/** Dependencies of a sweep; it begins no delete once the signal has aborted. */
interface SweepOptions {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly rateLimit: RateLimiter
  readonly signal: AbortSignal
}

/**
 * Deletes the ConfigMaps of revoked tokens whose hour is over (contract 7.4). One that can't be deleted waits for
 * the next sweep. Never rejects.
 */
export async function sweepEndedRevocations(options: SweepOptions): Promise<void> {
  const { configMaps, clock, log, rateLimit, signal } = options
  const names = [...configMaps.values()].map(({ name }) => name)
  try {
    for (const name of names.filter((one) => isPastRetention(one, clock.nowMs()))) {
      await rateLimit(async () => {
        if (!signal.aborted) await deleteEnded(name, options)
      })
    }
  } catch (err) {
    if (!(err instanceof NotLeaderError)) log.warn({ err }, 'sweep of revoked tokens ended early')
  }
}

async function deleteEnded(name: string, options: SweepOptions): Promise<void> {
  const { client, configMaps, namespace, log } = options
  // Read again: it may have been written or deleted while this delete waited.
  const current = configMaps.get(name, namespace)
  if (!current) return
  const { uid, resourceVersion } = current
  try {
    await client.delete(CONFIG_MAPS, { name, namespace }, { uid, resourceVersion }, 'sweep')
    log.info({ configMap: name }, 'revoked tokens dropped, their hour is over')
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
