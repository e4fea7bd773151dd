// Which tokens are revoked, as the ConfigMaps of contract 7.4 tell, and their upkeep.
import { once } from 'node:events'
import type { ConfigMap } from '../api/core.ts'
import type { Late } from '../domain/late.ts'
import { isRecordable } from '../domain/revocation.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Store, Whole } from '../kube/store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { sweepRevokedTokens } from './revocation-sweep.ts'
import { RevocationWriter } from './revocation-writer.ts'
import { StoredRevocations } from './stored-revocations.ts'
import { createPace } from './write-pace.ts'

/** Told of revocations, for platform_revocations_total. */
export interface RevocationObserver {
  /** So many tokens that were asked for are stored now. */
  revoked(count: number): void
}

/** What the records stand on. Only a leader's client may write. */
export interface RevokedTokensOptions {
  readonly client: KubeClient
  /** All ConfigMaps of the namespace; synced before the first record is asked for. */
  readonly configMaps: Store<Whole<ConfigMap>>
  /** The platform's. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly observer: RevocationObserver
}

/** The records of revoked tokens. */
export interface RevokedTokens {
  /** Whether the token is stored as revoked, as far as the store has seen. */
  has(jti: string): boolean
  /**
   * Asks for a record; asking again adds nothing. One that is stored, and lost again while it is
   * needed, is asked for from within.
   *
   * @param expiresMs when the token ends by itself, in epoch milliseconds
   * @throws Error for a `jti` that can be no uid
   */
  record(jti: string, expiresMs: number): void
  /** How many tokens are stored as revoked and have not ended by then, epoch milliseconds. */
  countAt(nowMs: number): number
  /** How long its record has been asked for, in milliseconds; null = it is not, or is stored. */
  askedForMs(jti: string): number | null
  /** Why the last write failed, in the same words each time; null = it did not. */
  fault(): string | null
  /** What was asked for and is not stored yet, and how long the oldest of it waits. */
  backlog(): Late
  /** Calls back, from now on, with the tokens whose records the store has come to show. */
  subscribe(listener: (jtis: readonly string[]) => void): void
  /** Deletes what is over; what can't be deleted now waits for the next sweep. Never rejects. */
  sweep(): Promise<void>
  /**
   * Takes nothing more; resolves when what was asked for is stored, when this process does not lead,
   * or when the signal aborts. No write begins afterwards. Never rejects.
   */
  stop(signal: AbortSignal): Promise<void>
}

/** Why these ConfigMaps are written, for metrics. */
export const REVOCATION_WRITE_REASONS = ['revoke', 'sweep'] as const

/** Four writes in a second at most (contract 7.4), wherever it begins. */
const PAUSE_MS = 250

/** Follows the records that are there, and writes those that are asked for. */
export function followRevokedTokens(options: RevokedTokensOptions): RevokedTokens {
  const { configMaps, clock, observer } = options
  const [stopping, over] = [new AbortController(), new AbortController()]
  const inTurn = createPace(clock, PAUSE_MS, over.signal)
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
      sweeping ??= sweepRevokedTokens({ ...options, inTurn, signal }).finally(() => {
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
