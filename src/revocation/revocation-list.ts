// The list of revoked tokens, stored in ConfigMaps (contract 7.4), as the leader reads, writes and sweeps it.
import { once } from 'node:events'
import { CONFIG_MAPS } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import type { Overdue } from '../domain/time.ts'
import { isPastRetention, isRecordable } from '../domain/token/revocation.ts'
import { isConflict, NotLeaderError } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import type { Clock } from '../runtime/clock.ts'
import { createRateLimiter } from '../runtime/concurrency/rate-limiter.ts'
import { shareRun } from '../runtime/concurrency/single-flight.ts'
import type { Log } from '../runtime/log.ts'
import { StoredRevocations } from './stored-revocations.ts'
import { RevocationWriter, type RevocationWriterOptions } from './writer.ts'

/** Counts revocations, for platform_revocations_total. */
interface RevocationObserver {
  /** Called with the number of requested tokens that were just stored. */
  revoked(count: number): void
}

/** Dependencies of the list. Only the client of a leader may write. */
interface RevocationListOptions {
  readonly client: KubeClient
  /** All ConfigMaps of the namespace; the store must be synced before the first revocation is requested. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  /** The platform namespace. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly observer: RevocationObserver
}

/** The list of revoked tokens. */
export interface RevocationList {
  /** Whether the token is stored as revoked. */
  has(jti: string): boolean
  /**
   * Requests that a token be stored as revoked; repeated requests have no effect. A record that disappears while it is
   * needed is requested again automatically.
   *
   * @param expiresMs exp of the token, in epoch milliseconds
   * @throws Error for a `jti` that cannot be a uid
   */
  record(jti: string, expiresMs: number): void
  /** How many tokens are stored as revoked and have an exp after this time, in epoch milliseconds. */
  countAt(nowMs: number): number
  /** Milliseconds since the token's record was requested; null = it was not requested, or is stored. */
  requestedForMs(jti: string): number | null
  /** Why the last write failed, in the same words for the same fault; null = it succeeded. */
  fault(): string | null
  /** How many requested records are not stored yet, and how long the oldest has waited. */
  backlog(): Overdue
  /** Calls the listener with tokens that are new in the store. */
  subscribe(listener: (jtis: readonly string[]) => void): void
  /** Deletes the ConfigMaps whose hour is over. After a failure, the next sweep tries again. Never rejects. */
  sweep(): Promise<void>
  /**
   * Accepts no more requests. Resolves when the requested records are stored, when this process does not lead, or when
   * the signal aborts; no write begins afterwards. Never rejects.
   */
  stop(signal: AbortSignal): Promise<void>
}

/** Reasons of the writes of these ConfigMaps, for metrics. */
export const REVOCATION_WRITE_REASONS = ['revoke', 'sweep'] as const

/** Minimum time between two writes: at most four writes a second (contract 7.4). */
const WRITE_INTERVAL_MS = 250

/** Creates the list: it follows the stored records, and writes the requested ones. */
export function createRevocationList(options: RevocationListOptions): RevocationList {
  const { client, configMaps, namespace, clock, log, observer } = options
  const [stopping, stopped] = [new AbortController(), new AbortController()]
  const rateLimit = createRateLimiter(
    clock,
    { maxTasks: 1, perMs: WRITE_INTERVAL_MS },
    stopped.signal,
  )
  const parts = { client, configMaps, namespace, clock, log, rateLimit }
  const writer = new RevocationWriter(parts, stopped.signal)
  const stored = new StoredRevocations()
  const listeners: ((jtis: readonly string[]) => void)[] = []
  const sweep = shareRun(() => sweepEndedRevocations(parts, stopping.signal))
  let latestSweep: Promise<void> = Promise.resolve()

  const request = (tokens: Iterable<readonly [jti: string, expiresMs: number]>): void => {
    if (!stopping.signal.aborted) writer.request(tokens)
  }
  for (const { object } of configMaps.values()) stored.update(undefined, object)
  configMaps.subscribe(({ name, before, after }) => {
    const { gained, lost } = stored.update(before?.object, after?.object)
    writer.onStoreChange(name)
    if (gained.length > 0) {
      observer.revoked(writer.onStored(gained))
      for (const listener of listeners) listener(gained)
    }
    request(lost)
  })
  return {
    has: (jti) => stored.has(jti),
    record: (jti, expiresMs) => {
      if (!isRecordable(jti)) throw new Error('a token to be revoked has no uid for its jti')
      if (!stored.has(jti)) request([[jti, expiresMs]])
    },
    countAt: (nowMs) => stored.countAt(nowMs),
    requestedForMs: (jti) => writer.requestedForMs(jti),
    fault: () => writer.fault,
    backlog: () => writer.backlog,
    subscribe: (listener) => {
      listeners.push(listener)
    },
    sweep: () => {
      latestSweep = sweep()
      return latestSweep
    },
    stop: async (signal) => {
      stopping.abort()
      const work = Promise.all([writer.drained(), latestSweep])
      if (!signal.aborted) await Promise.race([work, once(signal, 'abort')])
      stopped.abort()
    },
  }
}

/**
 * Deletes the ConfigMaps of revoked tokens whose hour is over (contract 7.4). After a failure, the next sweep tries
 * again. Never rejects.
 */
async function sweepEndedRevocations(
  options: RevocationWriterOptions,
  signal: AbortSignal,
): Promise<void> {
  const { configMaps, clock, log, rateLimit } = options
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

async function deleteEnded(name: string, options: RevocationWriterOptions): Promise<void> {
  const { client, configMaps, namespace, log } = options
  // Read from the store again: the ConfigMap may have changed while this delete waited for the rate limit.
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
