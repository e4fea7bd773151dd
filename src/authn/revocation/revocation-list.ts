// The revoked tokens in the ConfigMaps of contract 7.4, and their upkeep.
import { once } from 'node:events'
import type { ConfigMap } from '../../api/objects.ts'
import type { Overdue } from '../../domain/time.ts'
import { isRecordable } from '../../domain/token/revocation.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createRateLimiter } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'
import { StoredRevocations } from './stored-revocations.ts'
import { RevocationWriter, sweepEndedRevocations } from './writer.ts'

/** Counts revocations, for platform_revocations_total. */
export interface RevocationObserver {
  /** Called with the number of requested tokens that are stored now. */
  revoked(count: number): void
}

/** Dependencies of the records. Only a leader's client may write. */
export interface RevocationListOptions {
  readonly client: KubeClient
  /** All ConfigMaps of the namespace; synced before the first record is requested. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  /** The platform's. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly observer: RevocationObserver
}

/** The records of revoked tokens. */
export interface RevocationList {
  /** Whether the token is stored as revoked, as far as the store has seen. */
  has(jti: string): boolean
  /**
   * Requests a record; another request adds nothing. A record that is lost while it is still needed is
   * requested again by itself.
   *
   * @param expiresMs when the token ends by itself, in epoch milliseconds
   * @throws Error for a `jti` that can be no uid
   */
  record(jti: string, expiresMs: number): void
  /** How many tokens are stored as revoked and have not ended by then, epoch milliseconds. */
  countAt(nowMs: number): number
  /** For how long its record has been requested, in milliseconds; null = it is not, or is stored. */
  askedForMs(jti: string): number | null
  /** Why the last write failed, in the same words each time; null = it did not. */
  fault(): string | null
  /** The requested records that are not stored yet, and how long the oldest has waited. */
  backlog(): Overdue
  /** Calls back, from now on, with the tokens whose records are new in the store. */
  subscribe(listener: (jtis: readonly string[]) => void): void
  /** Deletes records whose hour is over; one that can't be deleted waits for the next sweep. Never rejects. */
  sweep(): Promise<void>
  /**
   * Takes no more requests; resolves when the requested records are stored, when this process does not
   * lead, or when the signal aborts. No write begins afterwards. Never rejects.
   */
  stop(signal: AbortSignal): Promise<void>
}

/** Why these ConfigMaps are written, for metrics. */
export const REVOCATION_WRITE_REASONS = ['revoke', 'sweep'] as const

/** At most four writes in any second (contract 7.4). */
const PAUSE_MS = 250

/** Follows the stored records, and writes those that are requested. */
export function createRevocationList(options: RevocationListOptions): RevocationList {
  const { configMaps, clock, observer } = options
  const [stopping, over] = [new AbortController(), new AbortController()]
  const inTurn = createRateLimiter(clock, { most: 1, perMs: PAUSE_MS }, over.signal)
  const writer = new RevocationWriter({ ...options, inTurn, signal: over.signal })
  const stored = new StoredRevocations()
  const listeners: ((jtis: readonly string[]) => void)[] = []
  let sweeping: Promise<void> | null = null

  const ask = (tokens: Iterable<readonly [jti: string, expiresMs: number]>): void => {
    if (!stopping.signal.aborted) writer.ask(tokens)
  }
  for (const { object } of configMaps.values()) stored.update(undefined, object)
  configMaps.subscribe(({ name, before, after }) => {
    const { gained, lost } = stored.update(before?.object, after?.object)
    writer.seen(name)
    if (gained.length > 0) {
      observer.revoked(writer.stored(gained))
      for (const listener of listeners) listener(gained)
    }
    ask(lost)
  })
  return {
    has: (jti) => stored.has(jti),
    record: (jti, expiresMs) => {
      if (!isRecordable(jti)) throw new Error('a token to be revoked has no uid for its jti')
      if (!stored.has(jti)) ask([[jti, expiresMs]])
    },
    countAt: (nowMs) => stored.countAt(nowMs),
    askedForMs: (jti) => writer.askedForMs(jti),
    fault: () => writer.fault,
    backlog: () => writer.backlog,
    subscribe: (listener) => {
      listeners.push(listener)
    },
    sweep: () => {
      const { signal } = stopping
      sweeping ??= sweepEndedRevocations({ ...options, inTurn, signal }).finally(() => {
        sweeping = null
      })
      return sweeping
    },
    stop: async (signal) => {
      stopping.abort()
      const work = Promise.all([writer.settled(), sweeping])
      if (!signal.aborted) await Promise.race([work, once(signal, 'abort')])
      over.abort()
    },
  }
}
