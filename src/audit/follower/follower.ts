// Follows the files of an audit log into the data store, beside the requests that are recorded there (contract 22.3).
import { setImmediate } from 'node:timers/promises'
import { fieldsOf, parseJson } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { DataStore } from '../store/data-store.ts'
import { LogReader, type ReadLines } from './log-reader.ts'
import { parsePosition, positionText } from './position.ts'

/** What becomes of events on their way into the store: `unread` ones were removed with their files before. */
export const STORE_RESULTS = ['stored', 'double', 'refused', 'unread'] as const

/** One of them. */
export type StoreResult = (typeof STORE_RESULTS)[number]

/** Callbacks of a follower. */
export interface FollowerObserver {
  /** Events with this result; for `unread` it is an estimate. */
  readonly counted: (result: StoreResult, count: number) => void
  /** Store or files can't be used, once a failure. @param cause may be logged */
  readonly failed: (cause: unknown) => void
  /** They can be used again. */
  readonly healed: () => void
}

/** Dependencies of a follower. */
interface FollowerOptions {
  readonly store: Pick<DataStore, 'readPosition' | 'writeEvents'>
  /** Where `audit.log` and its backups are. */
  readonly directory: string
  /** The replica. */
  readonly source: string
  readonly clock: Clock
  readonly observer: FollowerObserver
}

/** The interval of reading while nothing is written, in milliseconds. */
const POLL_MS = 500

/** The pause after a failure; the longest is 22.3's. */
const BACKOFF = { firstMs: 500, longestMs: 60_000 } as const

/** A follower of one directory. */
export class AuditFollower {
  readonly #options: FollowerOptions
  #reader: LogReader | null = null
  /** Lines that are read and not stored. */
  #pending: ReadLines | null = null
  #storedAllAtMs: number
  #failures = 0

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#storedAllAtMs = options.clock.nowMs()
  }

  /** How far the store is behind the files, in seconds: 0 = it has everything, or had within the last poll. */
  lagSeconds(): number {
    const nowMs = this.#options.clock.nowMs()
    const sinceMs = Math.min(this.#storedAllAtMs, stageTimeOf(this.#pending) ?? nowMs)
    return nowMs - sinceMs <= 2 * POLL_MS ? 0 : (nowMs - sinceMs) / 1000
  }

  /** Follows until the signal; never rejects. Lines that are not stored by then are read again at the next start. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const waitMs = await this.#step().catch((error: unknown) => this.#fail(error))
      // Others get their turn also behind a batch that took no time.
      if (waitMs === 0) await setImmediate()
      else await sleep(clock, waitMs, signal)
    }
    await this.#reader?.close().catch(() => undefined)
  }

  /**
   * Resolves once everything is stored that the files hold a poll from now.
   *
   * @param withinMs the longest that it takes, in milliseconds
   */
  async caughtUp(withinMs: number): Promise<void> {
    const { clock } = this.#options
    const since = clock.nowMs() + POLL_MS
    const until = clock.monotonicMs() + withinMs
    while (this.#storedAllAtMs < since && clock.monotonicMs() < until)
      await sleep(clock, POLL_MS, NEVER)
  }

  /** Stores a batch. @returns how long to wait then, in milliseconds */
  async #step(): Promise<number> {
    const { store, source, directory, clock, observer } = this.#options
    this.#reader ??= new LogReader(directory, await this.#position())
    this.#pending ??= await this.#reader.next()
    if (this.#pending !== null) {
      const { lines, position } = this.#pending
      const stored = await store.writeEvents({ source, lines, position: positionText(position) })
      this.#pending = null
      for (const result of ['stored', 'double', 'refused'] as const)
        if (stored[result] > 0) observer.counted(result, stored[result])
      this.#heal()
      return 0
    }
    this.#countUnread()
    this.#heal()
    this.#storedAllAtMs = clock.nowMs()
    return POLL_MS
  }

  async #position() {
    const text = await this.#options.store.readPosition(this.#options.source)
    return text === null ? null : parsePosition(text)
  }

  /** @returns the pause in milliseconds */
  async #fail(error: unknown): Promise<number> {
    if (this.#failures === 0) this.#options.observer.failed(error)
    this.#failures += 1
    // Files that are removed while the store is away are known only to those who looked.
    await this.#reader?.survey().catch(() => undefined)
    this.#countUnread()
    return backoffMs(BACKOFF, this.#failures - 1)
  }

  #heal(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    this.#options.observer.healed()
  }

  #countUnread(): void {
    const unread = this.#reader?.takeUnread() ?? 0
    if (unread > 0) this.#options.observer.counted('unread', unread)
  }
}

const NEVER = new AbortController().signal

/** When the first of the lines was recorded, in epoch milliseconds; null = unknown. */
function stageTimeOf(read: ReadLines | null): number | null {
  const [first] = read?.lines ?? []
  return parseTimestamp(fieldsOf(parseJson(first ?? ''))['stageTimestamp'])
}
