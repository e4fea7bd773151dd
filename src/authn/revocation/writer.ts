// Writes revoked tokens into their ConfigMaps. A token stays requested until the store shows it: a failure,
// a conflict or a lost response needs no rule of its own.
import { CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { Overdue } from '../../domain/time.ts'
import {
  type RevocationWrite,
  type Revocations,
  configMapDataAfter,
  isPastRetention,
  isTooLateToRecord,
  nextRevocationWrite,
} from '../../domain/token/revocation.ts'
import { NotLeaderError, StatusError, isConflict, isNotFound } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { backoffMs } from '../../runtime/concurrency/backoff.ts'
import type { RateLimiter } from '../../runtime/concurrency/rate-limiter.ts'
import type { Log } from '../../runtime/log.ts'

/** Dependencies of the writer; nothing is written once the signal has aborted. */
export interface RevocationWriterOptions {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly inTurn: RateLimiter
  readonly signal: AbortSignal
}

const BACK_OFF = { firstMs: 250, longestMs: 5000 }
/** For how long our own response stands in for a ConfigMap that the store does not show. */
const UNSEEN_FOR_MS = 5000

/** One write at a time, each with all tokens that wait for one ConfigMap. */
export class RevocationWriter {
  readonly #options: RevocationWriterOptions
  /** Tokens that are requested and not in the store yet, with their exp. */
  readonly #asked = new Map<string, number>()
  /** When each of those was first requested, on the monotonic clock; oldest first. */
  readonly #since = new Map<string, number>()
  /** ConfigMaps that we read or wrote and that are not in the store yet. */
  readonly #unseen = new Map<string, ConfigMap>()
  #writing: Promise<void> | null = null
  #failures = 0
  #fault: string | null = null

  constructor(options: RevocationWriterOptions) {
    this.#options = options
  }

  /** Why the last write failed, in the same words each time; null = it did not. */
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
  askedForMs(jti: string): number | null {
    const sinceMs = this.#since.get(jti)
    return sinceMs === undefined ? null : this.#options.clock.monotonicMs() - sinceMs
  }

  /** Resolves when nothing is left to write, or this process does not lead. Never rejects. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /**
   * Requests records; a token that is requested already stays as it was. A token long past its end is
   * dropped: no server accepts it any more.
   */
  ask(tokens: Iterable<readonly [jti: string, expiresMs: number]>): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [jti, expiresMs] of tokens) {
      if (this.#asked.has(jti)) continue
      this.#asked.set(jti, expiresMs)
      this.#since.set(jti, nowMs)
    }
    this.#wake()
  }

  /** The store shows these; returns how many of them were requested. */
  stored(jtis: readonly string[]): number {
    return jtis.filter((jti) => this.#drop(jti)).length
  }

  /** The store's entry under that name was added, changed or removed. */
  seen(name: string): void {
    const ours = this.#unseen.get(name)
    this.#unseen.delete(name)
    // The store may still be behind our last response. Deferred: it is notifying of the change before.
    if (ours) queueMicrotask(() => this.#options.configMaps.observe(ours))
  }

  /** Returns whether it was requested. */
  #drop(jti: string): boolean {
    this.#since.delete(jti)
    return this.#asked.delete(jti)
  }

  #wake(): void {
    if (this.#asked.size > 0 && !this.#options.signal.aborted) this.#writing ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    const { inTurn, clock, signal } = this.#options
    let pauseMs: number | null
    do {
      // Tokens that are requested before its turn are part of it.
      pauseMs = await inTurn(() => this.#writeNext())
      await sleep(clock, pauseMs ?? 0, signal)
    } while (pauseMs !== null && this.#next() !== null)
    this.#writing = null
  }

  /** Returns the pause that is due, in milliseconds; null = this was the last. Never rejects. */
  async #writeNext(): Promise<number | null> {
    if (this.#options.signal.aborted) return null
    const addition = this.#next()
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

  #next(): RevocationWrite | null {
    const { clock, configMaps } = this.#options
    const nowMs = clock.nowMs()
    for (const [jti, expiresMs] of this.#asked) {
      if (isTooLateToRecord(expiresMs, nowMs)) this.#drop(jti)
    }
    const seen = [...configMaps.values()].map(({ object }) => object)
    return nextRevocationWrite(this.#asked, [...seen, ...this.#unseen.values()])
  }

  async #write(addition: RevocationWrite): Promise<void> {
    const { log } = this.#options
    const { name, tokens } = addition
    try {
      this.#see(await this.#send(addition))
      log.info({ configMap: name, tokens: tokens.size }, 'revoked tokens stored')
    } catch (error) {
      // Written or deleted since we saw it, perhaps by ourselves in a write whose response was lost.
      if (isOldView(addition, error)) await this.#readAgain(name)
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

  async #readAgain(name: string): Promise<void> {
    const { client, namespace } = this.#options
    const found = await client.get<ConfigMap>(CONFIG_MAPS, { name, namespace })
    this.#unseen.delete(name)
    if (found) this.#see(found)
  }

  /** Takes a response as the present state, because the watch may lag or be broken. */
  #see(object: ConfigMap): void {
    const { configMaps, namespace, clock, signal } = this.#options
    const { name } = object.metadata
    if (configMaps.get(name, namespace)) {
      configMaps.observe(object)
      return
    }
    this.#unseen.set(name, object)
    void sleep(clock, UNSEEN_FOR_MS, signal).then(() => {
      if (this.#unseen.get(name) !== object) return
      this.#unseen.delete(name)
      this.#wake()
    })
  }

  /** An hour that can't be written must not keep the others waiting. */
  #putLast(tokens: Revocations): void {
    for (const [jti, expiresMs] of tokens) {
      if (this.#asked.delete(jti)) this.#asked.set(jti, expiresMs)
    }
  }

  #pauseAfter(addition: RevocationWrite, error: unknown): number | null {
    // The next request starts it again: this process may lead after all.
    if (error instanceof NotLeaderError) return null
    const { log } = this.#options
    const { name, tokens } = addition
    const fields = { configMap: name, tokens: tokens.size }
    this.#putLast(tokens)
    if (isOldView(addition, error)) {
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
    const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(waitMs, askedMs)
  }
}

const isOldView = ({ configMap }: RevocationWrite, error: unknown): boolean =>
  isConflict(error) || (configMap !== null && isNotFound(error))

/** Without the names in the failure's own message: a condition that repeats it would change each time. */
const faultOf = (error: unknown): string =>
  error instanceof StatusError
    ? `the API server answered ${error.code} ${error.reason}`.trimEnd()
    : 'no answer from the API server'

/** Dependencies of a sweep; it begins no delete once the signal has aborted. */
export interface SweepOptions {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly inTurn: RateLimiter
  readonly signal: AbortSignal
}

/**
 * Deletes the ConfigMaps of revoked tokens whose hour is over (contract 7.4). What can't be deleted
 * now waits for the next sweep. Never rejects.
 */
export async function sweepEndedRevocations(options: SweepOptions): Promise<void> {
  const { configMaps, clock, log, inTurn, signal } = options
  const names = [...configMaps.values()].map(({ name }) => name)
  try {
    for (const name of names.filter((one) => isPastRetention(one, clock.nowMs()))) {
      await inTurn(async () => {
        if (!signal.aborted) await drop(name, options)
      })
    }
  } catch (err) {
    if (!(err instanceof NotLeaderError)) log.warn({ err }, 'sweep of revoked tokens ended early')
  }
}

async function drop(name: string, options: SweepOptions): Promise<void> {
  const { client, configMaps, namespace, log } = options
  // As it is now: it may have been written or deleted while this delete waited for its turn.
  const seen = configMaps.get(name, namespace)
  if (!seen) return
  const { uid, resourceVersion } = seen
  try {
    await client.delete(CONFIG_MAPS, { name, namespace }, { uid, resourceVersion }, 'sweep')
    log.info({ configMap: name }, 'revoked tokens dropped, their hour is over')
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
