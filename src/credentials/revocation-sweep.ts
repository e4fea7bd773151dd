import { CONFIG_MAPS } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { isOver } from '../domain/token/revocation.ts'
import { NotLeader, isConflict } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { Store, Whole } from '../kube/informer/store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InTurn } from '../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../runtime/log.ts'

/** Dependencies of a sweep; it begins no delete once the signal has aborted. */
export interface SweepOptions {
  readonly client: KubeClient
  readonly configMaps: Store<Whole<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly inTurn: InTurn
  readonly signal: AbortSignal
}

/**
 * Deletes the ConfigMaps of revoked tokens whose hour is over (contract 7.4). What can't be deleted
 * now waits for the next sweep. Never rejects.
 */
export async function sweepRevokedTokens(options: SweepOptions): Promise<void> {
  const { configMaps, clock, log, inTurn, signal } = options
  const names = [...configMaps.values()].map(({ name }) => name)
  try {
    for (const name of names.filter((one) => isOver(one, clock.nowMs()))) {
      await inTurn(async () => {
        if (!signal.aborted) await drop(name, options)
      })
    }
  } catch (err) {
    if (!(err instanceof NotLeader)) log.warn({ err }, 'sweep of revoked tokens ended early')
  }
}

async function drop(name: string, options: SweepOptions): Promise<void> {
  const { client, configMaps, namespace, log } = options
  // As it is now: it may have been written or deleted while this delete waited for its turn.
  const seen = configMaps.get(name)
  if (!seen) return
  const { uid, resourceVersion } = seen
  try {
    await client.delete(CONFIG_MAPS, { name, namespace }, { uid, resourceVersion }, 'sweep')
    log.info({ configMap: name }, 'revoked tokens dropped, their hour is over')
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
