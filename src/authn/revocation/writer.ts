// Writes revoked tokens into their ConfigMaps. A token stays requested until the store shows it: a failure,
// a conflict or a lost response needs no rule of its own.
import { CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { Overdue } from '../../domain/time.ts'
import {
  type RevocationWrite,
  type Revocations,
  configMapDataAfter,
  isTooLateToRecord,
  nextRevocationWrite,
} from '../../domain/token/revocation.ts'
import { NotLeaderError, StatusError, isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type RateLimiter, backoffMs } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'

/** Dependencies of all writes of the list; none begins once the signal has aborted. */
export interface RevocationWriterOptions {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly rateLimit: RateLimiter
  readonly signal: AbortSignal
}

const BACK_OFF = { firstMs: 250, longestMs: 5000 }
/** For how long our own response stands in for a ConfigMap that the store does not show. */
const PENDING_FOR_MS = 5000

/** Writes one ConfigMap at a time, each with all the requested tokens that belong into it. */
export class RevocationWriter {
  readonly #options: RevocationWriterOptions
  /** Requested tokens that are not in the store yet, with their exp. */
  readonly #requested = new Map<string, number>()
  /** When each of them was first requested, on the monotonic clock; oldest first. */
  readonly #since = new Map<string, number>()
  /** ConfigMaps that we read or wrote and that are not in the store yet. */
  readonly #pending = new Map<string, ConfigMap>()
  #writing: Promise<void> | null = null
  #failures = 0
  #fault: string | null = null

  constructor(options: RevocationWriterOptions) {
    this.#options = options
  }

  /** Why the last write failed, in the same words each time; null = it succeeded. */
  get fault(): string | null {
    return this.#fault
  }

  /** The tokens that are requested and not in the store yet. */
  get backlog(): Overdue {
    const nowMs = this.#options.clock.monotonicMs()
    const oldestMs = this.#since.values().next().value ?? nowMs
    return { count: this.#since.size, longestMs: nowMs - oldestMs }
  }

  /** For how long a token's record has been requested, in milliseconds; null = it is not, or is stored. */
  requestedForMs(jti: string): number | null {
    const sinceMs = this.#since.get(jti)
    return sinceMs === undefined ? null : this.#options.clock.monotonicMs() - sinceMs
  }

  /** Resolves when nothing is left to write, or this process does not lead. Never rejects. */
  async drained(): Promise<void> {
    await this.#writing
  }

  /**
   * Requests records; a token that is requested already stays as it was. A token long past its end is
   * dropped: no server accepts it any more.
   */
  request(tokens: Iterable<readonly [jti: string, expiresMs: number]>): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [jti, expiresMs] of tokens) {
      if (this.#requested.has(jti)) continue
      this.#requested.set(jti, expiresMs)
      this.#since.set(jti, nowMs)
    }
    this.#start()
  }

  /** Ends the requests of tokens that the store has now; returns how many were requested. */
  onStored(jtis: readonly string[]): number {
    return jtis.filter((jti) => this.#forget(jti)).length
  }

  /** To be called after each change of the store, with the name of the ConfigMap. */
  onStoreChange(name: string): void {
    const pending = this.#pending.get(name)
    this.#pending.delete(name)
    // The store may still be behind our last response. Deferred: it is notifying of the change before.
    if (pending) queueMicrotask(() => this.#options.configMaps.observe(pending))
  }

  /** Returns whether it was requested. */
  #forget(jti: string): boolean {
    this.#since.delete(jti)
    return this.#requested.delete(jti)
  }

  #start(): void {
    if (this.#requested.size > 0 && !this.#options.signal.aborted)
      this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    const { rateLimit, clock, signal } = this.#options
    let pauseMs: number | null
    do {
      // Tokens that are requested while it waits are part of it.
      pauseMs = await rateLimit(() => this.#writeNext())
      await sleep(clock, pauseMs ?? 0, signal)
    } while (pauseMs !== null && this.#nextAddition() !== null)
    this.#writing = null
  }

  /** Returns the pause that is due, in milliseconds; null = this was the last. Never rejects. */
  async #writeNext(): Promise<number | null> {
    if (this.#options.signal.aborted) return null
    const addition = this.#nextAddition()
    if (!addition) return 0
    try {
      await this.#write(addition)
      this.#failures = 0
      this.#fault = null
      return 0
    } catch (error) {
      return this.#pauseAfter(addition, error)
    }
  }

  #nextAddition(): RevocationWrite | null {
    const { clock, configMaps } = this.#options
    const nowMs = clock.nowMs()
    for (const [jti, expiresMs] of this.#requested) {
      if (isTooLateToRecord(expiresMs, nowMs)) this.#forget(jti)
    }
    const stored = [...configMaps.values()].map(({ object }) => object)
    return nextRevocationWrite(this.#requested, [...stored, ...this.#pending.values()])
  }

  async #write(addition: RevocationWrite): Promise<void> {
    const { log } = this.#options
    const { name, tokens } = addition
    try {
      this.#observe(await this.#send(addition))
      log.info({ configMap: name, tokens: tokens.size }, 'revoked tokens stored')
    } catch (error) {
      // Written or deleted since we saw it, perhaps by ourselves in a write whose response was lost.
      if (isStaleView(addition, error)) await this.#reread(name)
      throw error
    }
  }

  async #send(addition: RevocationWrite): Promise<ConfigMap> {
    const { client, namespace } = this.#options
    const { name, configMap } = addition
    const envelope = {
      apiVersion: 'v1',
      kind: CONFIG_MAPS.kind,
      data: configMapDataAfter(addition),
    }
    if (configMap === null)
      return client.create(CONFIG_MAPS, { ...envelope, metadata: { name, namespace } }, 'revoke')
    // An object from a list has neither apiVersion nor kind.
    const written: ConfigMap = { ...configMap, ...envelope }
    return client.replace(CONFIG_MAPS, written, 'revoke')
  }

  async #reread(name: string): Promise<void> {
    const { client, namespace } = this.#options
    const found = await client.get<ConfigMap>(CONFIG_MAPS, { name, namespace })
    this.#pending.delete(name)
    if (found) this.#observe(found)
  }

  /** Takes a response as the present state, because the watch may lag or be broken. */
  #observe(object: ConfigMap): void {
    const { configMaps, namespace, clock, signal } = this.#options
    const { name } = object.metadata
    if (configMaps.get(name, namespace)) {
      configMaps.observe(object)
      return
    }
    this.#pending.set(name, object)
    void sleep(clock, PENDING_FOR_MS, signal).then(() => {
      if (this.#pending.get(name) !== object) return
      this.#pending.delete(name)
      this.#start()
    })
  }

  /** An hour that can't be written must not hold up the others. */
  #putLast(tokens: Revocations): void {
    for (const [jti, expiresMs] of tokens) {
      if (this.#requested.delete(jti)) this.#requested.set(jti, expiresMs)
    }
  }

  #pauseAfter(addition: RevocationWrite, error: unknown): number | null {
    // The next request starts it again: this process may lead after all.
    if (error instanceof NotLeaderError) return null
    const { log } = this.#options
    const { name, tokens } = addition
    const fields = { configMap: name, tokens: tokens.size }
    this.#putLast(tokens)
    if (isStaleView(addition, error)) {
      log.debug(fields, 'records of revoked tokens changed under us, trying again')
      return 0
    }
    log.warn({ ...fields, err: error }, 'revoked tokens could not be stored, trying again')
    this.#fault = faultOf(error)
    return this.#backOffMs(error)
  }

  #backOffMs(error: unknown): number {
    const waitMs = backoffMs(BACK_OFF, this.#failures)
    this.#failures += 1
    const retryAfterMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(waitMs, retryAfterMs)
  }
}

const isStaleView = ({ configMap }: RevocationWrite, error: unknown): boolean =>
  isConflict(error) || (configMap !== null && isNotFound(error))

/** Without the names in the failure's own message: a condition that repeats it would change each time. */
const faultOf = (error: unknown): string =>
  error instanceof StatusError
    ? `the API server answered ${error.code} ${error.reason}`.trimEnd()
    : 'no answer from the API server'
