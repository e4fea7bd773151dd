// Writes revoked tokens into ConfigMaps. A token stays requested until the store has it, so failures, conflicts and
// lost responses need no handling of their own.
import { CONFIG_MAPS } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import type { Overdue } from '../domain/time.ts'
import {
  configMapDataAfter,
  isTooLateToRecord,
  nextRevocationWrite,
  type Revocations,
  type RevocationWrite,
} from '../domain/token/revocation.ts'
import { isConflict, isNotFound, NotLeaderError, StatusError } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import { backoffMs } from '../runtime/backoff.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { RateLimiter } from '../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../runtime/log.ts'

/** Dependencies of all writes of revocation records. */
export interface RevocationWriterOptions {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly rateLimit: RateLimiter
}

const BACKOFF = { firstMs: 250, longestMs: 5000 }
/** How long the response to our write substitutes for a ConfigMap that is not in the store yet. */
const PENDING_FOR_MS = 5000

/** Writes one ConfigMap at a time, with all requested tokens that belong in it. */
export class RevocationWriter {
  readonly #options: RevocationWriterOptions
  readonly #signal: AbortSignal
  /** Requested tokens that are not in the store yet: `jti` to exp in epoch milliseconds. */
  readonly #requested = new Map<string, number>()
  /** When each requested token was first requested, on the monotonic clock; oldest first. */
  readonly #requestedSinceMs = new Map<string, number>()
  /** ConfigMaps that this process read or wrote and that are not in the store yet. */
  readonly #pending = new Map<string, ConfigMap>()
  #writing: Promise<void> | null = null
  #failures = 0
  #lastFault: string | null = null

  /** @param signal no write begins once it has aborted */
  constructor(options: RevocationWriterOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  /** Why the last write failed, in the same words for the same fault; null = it succeeded. */
  get fault(): string | null {
    return this.#lastFault
  }

  /** The tokens that are requested and not in the store yet. */
  get backlog(): Overdue {
    const nowMs = this.#options.clock.monotonicMs()
    const oldestMs = this.#requestedSinceMs.values().next().value ?? nowMs
    return { count: this.#requestedSinceMs.size, longestMs: nowMs - oldestMs }
  }

  /** Milliseconds since the record was requested; null = it was not requested, or is stored. */
  requestedForMs(jti: string): number | null {
    const sinceMs = this.#requestedSinceMs.get(jti)
    return sinceMs === undefined ? null : this.#options.clock.monotonicMs() - sinceMs
  }

  /** Resolves when all requested records are written, or when this process does not lead. Never rejects. */
  async drained(): Promise<void> {
    await this.#writing
  }

  /**
   * Requests records; a token that is requested already is not changed. A token that expired long ago is dropped,
   * because no server accepts it any more.
   */
  request(tokens: Iterable<readonly [jti: string, expiresMs: number]>): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [jti, expiresMs] of tokens) {
      if (this.#requested.has(jti)) continue
      this.#requested.set(jti, expiresMs)
      this.#requestedSinceMs.set(jti, nowMs)
    }
    this.#startWriting()
  }

  /** Ends the requests of tokens that the store has now; returns how many of them were requested. */
  onStored(jtis: readonly string[]): number {
    return jtis.filter((jti) => this.#endRequest(jti)).length
  }

  /** Must be called after each change of the store, with the name of the ConfigMap. */
  onStoreChange(name: string): void {
    const pending = this.#pending.get(name)
    this.#pending.delete(name)
    // The store may be older than our last response. Deferred, because the store is still notifying its subscribers.
    if (pending) queueMicrotask(() => this.#options.configMaps.observe(pending))
  }

  /** Ends the request of a token; returns whether the token was requested. */
  #endRequest(jti: string): boolean {
    this.#requestedSinceMs.delete(jti)
    return this.#requested.delete(jti)
  }

  #startWriting(): void {
    if (this.#requested.size > 0 && !this.#signal.aborted) this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    const { rateLimit, clock } = this.#options
    let pauseMs: number | null
    do {
      // The write includes tokens that are requested while it waits for the rate limit.
      pauseMs = await rateLimit(() => this.#writeNext())
      await sleep(clock, pauseMs ?? 0, this.#signal)
    } while (pauseMs !== null && this.#nextWrite() !== null)
    this.#writing = null
  }

  /** Returns how long to pause before the next write, in milliseconds; null = stop writing. Never rejects. */
  async #writeNext(): Promise<number | null> {
    if (this.#signal.aborted) return null
    const write = this.#nextWrite()
    if (!write) return 0
    try {
      await this.#write(write)
      this.#failures = 0
      this.#lastFault = null
      return 0
    } catch (error) {
      return this.#pauseAfter(write, error)
    }
  }

  #nextWrite(): RevocationWrite | null {
    const { clock, configMaps } = this.#options
    const nowMs = clock.nowMs()
    for (const [jti, expiresMs] of this.#requested) {
      if (isTooLateToRecord(expiresMs, nowMs)) this.#endRequest(jti)
    }
    const stored = [...configMaps.values()].map(({ object }) => object)
    return nextRevocationWrite(this.#requested, [...stored, ...this.#pending.values()])
  }

  async #write(write: RevocationWrite): Promise<void> {
    const { log } = this.#options
    const { name, tokens } = write
    try {
      this.#observe(await this.#send(write))
      log.info({ configMap: name, tokens: tokens.size }, 'revoked tokens stored')
    } catch (error) {
      // The ConfigMap was written or deleted since we read it, perhaps by an own write whose response was lost.
      if (isStaleView(write, error)) await this.#reread(name)
      throw error
    }
  }

  async #send(write: RevocationWrite): Promise<ConfigMap> {
    const { client, namespace } = this.#options
    const { name, configMap } = write
    const envelope = {
      apiVersion: 'v1',
      kind: CONFIG_MAPS.kind,
      data: configMapDataAfter(write),
    }
    if (configMap === null)
      return client.create(CONFIG_MAPS, { ...envelope, metadata: { name, namespace } }, 'revoke')
    // Objects from a list response have neither apiVersion nor kind.
    const written: ConfigMap = { ...configMap, ...envelope }
    return client.replace(CONFIG_MAPS, written, 'revoke')
  }

  async #reread(name: string): Promise<void> {
    const { client, namespace } = this.#options
    const found = await client.get<ConfigMap>(CONFIG_MAPS, { name, namespace })
    this.#pending.delete(name)
    if (found) this.#observe(found)
  }

  /** Puts a response into the store, because the watch may lag or be broken. */
  #observe(object: ConfigMap): void {
    const { configMaps, namespace, clock } = this.#options
    const { name } = object.metadata
    if (configMaps.get(name, namespace)) {
      configMaps.observe(object)
      return
    }
    this.#pending.set(name, object)
    void sleep(clock, PENDING_FOR_MS, this.#signal).then(() => {
      if (this.#pending.get(name) !== object) return
      this.#pending.delete(name)
      this.#startWriting()
    })
  }

  /** Moves these requests to the end: an hour that can't be written must not delay the others. */
  #moveToEnd(tokens: Revocations): void {
    for (const [jti, expiresMs] of tokens) {
      if (this.#requested.delete(jti)) this.#requested.set(jti, expiresMs)
    }
  }

  #pauseAfter(write: RevocationWrite, error: unknown): number | null {
    // The next request starts the writer again, in case this process leads by then.
    if (error instanceof NotLeaderError) return null
    const { log } = this.#options
    const { name, tokens } = write
    const fields = { configMap: name, tokens: tokens.size }
    this.#moveToEnd(tokens)
    if (isStaleView(write, error)) {
      log.debug(fields, 'records of revoked tokens changed under us, trying again')
      return 0
    }
    log.warn({ ...fields, err: error }, 'revoked tokens could not be stored, trying again')
    this.#lastFault = faultOf(error)
    return this.#backOffMs(error)
  }

  #backOffMs(error: unknown): number {
    const waitMs = backoffMs(BACKOFF, this.#failures)
    this.#failures += 1
    const retryAfterMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(waitMs, retryAfterMs)
  }
}

const isStaleView = ({ configMap }: RevocationWrite, error: unknown): boolean =>
  isConflict(error) || (configMap !== null && isNotFound(error))

/** The failure without names, unlike its own message: a condition with such names would change each time. */
const faultOf = (error: unknown): string =>
  error instanceof StatusError
    ? `the API server answered ${error.code} ${error.reason}`.trimEnd()
    : 'no answer from the API server'
