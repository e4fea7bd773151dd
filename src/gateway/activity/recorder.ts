// Records when keys are used (contract 14). A replica keeps only the uses that are not stored yet: every replica
// and the operator decide by the key object at the API server alone.
import type { KeyCaller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { createWorkerPool } from '../../runtime/concurrency/worker-pool.ts'
import type { Log } from '../../runtime/log.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'
import { dueMsOf, mustRecordFirst, type RecordedUse, recordedUseOf } from './flush-policy.ts'
import { type RecordDeps, writeLastActivity } from './write.ts'

/** The dependencies of the activity recorder. */
interface ActivityRecorderOptions extends RecordDeps {
  /** Returns the caps in force. */
  readonly caps: () => Caps
  /** The clamped clock, never far ahead of the API server's. */
  readonly clock: Clock
  readonly log: Log
  /** Maximum writes per second for keys that do not slide (`--activity-writes-per-second`). */
  readonly budgetPerSecond: number
  /** Returns the jitter of this replica, from 0 to below 1; called once. */
  readonly random: () => number
  readonly observer: ActivityObserver
}

/** Called for each write of a use, for metrics. */
interface ActivityObserver {
  readonly written: () => void
  /** The write failed; for a sliding key it is retried. */
  readonly failed: () => void
}

/** Whether the use is stored, will be stored later, or could not be stored: the request is refused then. */
export type RecordResult = 'recorded' | 'later' | 'unavailable'

/** Records the uses of keys (contract 14.1). No method rejects. */
export interface ActivityRecorder {
  /**
   * Records an admitted request. Await it before the request goes on: when the recorded use of a sliding key is
   * old, this use is stored first. After a failed write the use may still count: its write can't be taken back.
   * Without a promise there is nothing to wait for.
   */
  readonly started: (caller: KeyCaller) => RecordResult | Promise<RecordResult>
  /** Records that a stream transfers data. Cheap enough to call for every chunk. */
  readonly flowed: (caller: KeyCaller) => void
  /** Writes all uses that are not recorded yet, sliding keys first. Call it at shutdown, after the last request. */
  readonly flush: () => Promise<void>
}

/** Creates the recorder of this replica. */
export const createActivityRecorder = (options: ActivityRecorderOptions): ActivityRecorder =>
  new Recorder(options)

/** The uses of one key that are not recorded yet. */
interface PendingUse {
  /** The key as it was last read or written. */
  key: AccessKey
  readonly firstMs: number
  lastMs: number
  /** When the use is to be written, in epoch milliseconds; NEVER = not scheduled. */
  dueMs: number
  /** Resolves when the write in flight ends, with whether it succeeded; null = no write is in flight. */
  writing: Promise<boolean> | null
}

/** Concurrent writes: few enough to leave connections for requests of clients. */
const CONCURRENT_WRITES = 8
/** A write without an answer is cancelled after this time. */
const WRITE_TIMEOUT_MS = 3000
/** The delay before a retry, as a fraction of the key's `withinMs`. */
const RETRY_FRACTION = 1 / 16
const SHORTEST_RETRY_MS = 100
/** Attempts for each key at shutdown: few, as there may be many keys. */
const FLUSH_ATTEMPTS = 3

class Recorder implements ActivityRecorder {
  readonly #options: ActivityRecorderOptions
  /** By uid of the key. */
  readonly #pending = new Map<string, PendingUse>()
  readonly #deadlines: TimerHeap
  readonly #closing = new AbortController()
  readonly #jitter: number
  #isFailing = false

  constructor(options: ActivityRecorderOptions) {
    const { clock, budgetPerSecond } = options
    const writerPool = (atATime: number, pauseMs: number): ((uid: string) => void) =>
      createWorkerPool({
        clock,
        atATime,
        pauseMs,
        signal: this.#closing.signal,
        run: (uid) => this.#writeIfDue(uid),
      })
    const sliding = writerPool(CONCURRENT_WRITES, 0)
    const others = writerPool(1, 1000 / budgetPerSecond)
    this.#options = options
    this.#jitter = options.random()
    this.#deadlines = new TimerHeap(clock, (uid) => {
      const use = this.#pending.get(uid)
      if (use) (this.#recordedUseOf(use).slides ? sliding : others)(uid)
    })
  }

  readonly started = ({ key }: KeyCaller): RecordResult | Promise<RecordResult> => {
    const requestMs = this.#options.clock.nowMs()
    const { use, recordedUse } = this.#addUse(key, requestMs)
    return mustRecordFirst(recordedUse, requestMs) ? this.#recordFirst(use, requestMs) : 'later'
  }

  readonly flowed = ({ key }: KeyCaller): void => {
    const nowMs = this.#options.clock.nowMs()
    const use = this.#pending.get(key.uid)
    if (use) use.lastMs = nowMs
    else this.#addUse(key, nowMs)
  }

  readonly flush = async (): Promise<void> => {
    this.#closing.abort()
    this.#deadlines.clear()
    const uses = [...this.#pending.values()]
    const [sliding, others] = [true, false].map((slides) =>
      uses.filter((use) => this.#recordedUseOf(use).slides === slides),
    )
    // One iterator for all writers: each takes the next use.
    const remaining = [...(sliding ?? []), ...(others ?? [])].values()
    let lost = 0
    const writers = Array.from({ length: CONCURRENT_WRITES }, async () => {
      for (const use of remaining) if (!(await this.#flushUse(use))) lost += 1
    })
    await Promise.all(writers)
    if (lost > 0) this.#options.log.warn({ lost }, 'the last uses of access keys are not recorded')
  }

  /** @returns whether no use of the key is left to record */
  async #flushUse(use: PendingUse): Promise<boolean> {
    // The write in flight may have begun before the last use.
    await use.writing
    for (let tries = FLUSH_ATTEMPTS; tries > 0 && this.#isUnrecorded(use); tries -= 1) {
      if (!(await this.#write(use)))
        await sleep(this.#options.clock, SHORTEST_RETRY_MS, new AbortController().signal)
    }
    return !this.#isUnrecorded(use)
  }

  #addUse(
    key: AccessKey,
    nowMs: number,
  ): { readonly use: PendingUse; readonly recordedUse: RecordedUse } {
    const known = this.#pending.get(key.uid)
    const use = known ?? { key, firstMs: nowMs, lastMs: nowMs, dueMs: NEVER, writing: null }
    use.lastMs = nowMs
    const recordedUse = this.#recordedUseOf(use)
    if (!known && nowMs > recordedUse.recordedMs && !recordedUse.hasEnded)
      this.#pending.set(key.uid, use)
    this.#schedule(use, recordedUse)
    return { use, recordedUse }
  }

  async #recordFirst(use: PendingUse, requestMs: number): Promise<RecordResult> {
    for (;;) {
      const recordedUse = this.#recordedUseOf(use)
      if (recordedUse.hasEnded) return 'unavailable'
      if (!mustRecordFirst(recordedUse, requestMs)) return 'recorded'
      if (!(await this.#write(use))) return 'unavailable'
    }
  }

  /** @returns whether it wrote; false when another replica has recorded a later use meanwhile */
  async #writeIfDue(uid: string): Promise<boolean> {
    const use = this.#pending.get(uid)
    if (!use) return false
    if (!this.#isDue(use, use.lastMs, this.#recordedUseOf(use))) {
      this.#forgetOrSchedule(use)
      return false
    }
    await this.#write(use)
    return true
  }

  /** Writes the last use, or joins the key's write in flight. @returns whether the write succeeded */
  #write(use: PendingUse): Promise<boolean> {
    use.writing ??= this.#writeOnce(use).finally(() => {
      use.writing = null
    })
    return use.writing
  }

  async #writeOnce(use: PendingUse): Promise<boolean> {
    const { caps, clock, observer } = this.#options
    const timeout = new AbortController()
    const cancelTimeout = clock.schedule(WRITE_TIMEOUT_MS, () => timeout.abort())
    const atMs = use.lastMs
    try {
      const recorded = await writeLastActivity(this.#options, {
        key: this.#latestKey(use),
        atMs,
        isWanted: (key) => this.#isDue(use, atMs, recordedUseOf(key, caps(), clock.nowMs())),
        signal: timeout.signal,
      })
      this.#logFailureChange(null)
      if (recorded === null) {
        this.#forget(use)
        return false
      }
      if (recorded.written) observer.written()
      use.key = recorded.key
      this.#forgetOrSchedule(use)
      return true
    } catch (err) {
      observer.failed()
      this.#logFailureChange(err)
      this.#retryLater(use)
      return false
    } finally {
      cancelTimeout()
    }
  }

  /** Whether the use of that time is later than the recorded use, and due. */
  #isDue(use: PendingUse, atMs: number, recordedUse: RecordedUse): boolean {
    if (recordedUse.hasEnded || atMs <= recordedUse.recordedMs) return false
    return (
      this.#closing.signal.aborted ||
      dueMsOf(use, recordedUse, this.#jitter) <= this.#options.clock.nowMs()
    )
  }

  #isUnrecorded(use: PendingUse): boolean {
    const { hasEnded, recordedMs } = this.#recordedUseOf(use)
    return !hasEnded && use.lastMs > recordedMs
  }

  /** Forgets a use that is recorded; schedules the next write of any other. */
  #forgetOrSchedule(use: PendingUse): void {
    use.dueMs = NEVER
    if (this.#isUnrecorded(use)) this.#schedule(use, this.#recordedUseOf(use))
    else this.#forget(use)
  }

  /** Schedules the write, unless an earlier one is scheduled already. */
  #schedule(use: PendingUse, recordedUse: RecordedUse): void {
    const dueMs = dueMsOf(use, recordedUse, this.#jitter)
    if (dueMs < use.dueMs) this.#setDeadline(use, dueMs)
  }

  /** Schedules a retry for a sliding key. Any other key has no retry: its next use is recorded instead. */
  #retryLater(use: PendingUse): void {
    const { clock } = this.#options
    const { slides, withinMs } = this.#recordedUseOf(use)
    if (!slides || !this.#isUnrecorded(use)) this.#forget(use)
    else {
      const delayMs = Math.max(withinMs * RETRY_FRACTION, SHORTEST_RETRY_MS)
      this.#setDeadline(use, clock.nowMs() + delayMs)
    }
  }

  #setDeadline(use: PendingUse, dueMs: number): void {
    const { uid } = use.key
    if (this.#closing.signal.aborted || this.#pending.get(uid) !== use) return
    use.dueMs = dueMs
    this.#deadlines.set(uid, dueMs)
  }

  #forget(use: PendingUse): void {
    const { uid } = use.key
    if (this.#pending.get(uid) !== use) return
    this.#pending.delete(uid)
    this.#deadlines.delete(uid)
  }

  #recordedUseOf(use: PendingUse): RecordedUse {
    const { caps, clock } = this.#options
    return recordedUseOf(this.#latestKey(use), caps(), clock.nowMs())
  }

  /** The key from the store; if the store does not have this key (yet), the key as it was last read. */
  #latestKey({ key }: PendingUse): AccessKey {
    const stored = this.#options.keys.get(key.name)
    return stored?.uid === key.uid ? stored : key
  }

  /** Logs when writes begin to fail and when they succeed again, once for all keys. @param err null = success */
  #logFailureChange(err: unknown): void {
    const { log } = this.#options
    const isFailing = err !== null
    if (isFailing && !this.#isFailing) log.warn({ err }, 'uses of access keys cannot be recorded')
    if (!isFailing && this.#isFailing) log.info({}, 'uses of access keys are recorded again')
    this.#isFailing = isFailing
  }
}

const NEVER = Number.POSITIVE_INFINITY
