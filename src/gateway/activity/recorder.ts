// Records when keys are used (contract 14). Nothing is remembered beyond what is not stored yet: what the
// API server holds alone decides, for every replica and the operator.
import type { Caller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { createWorkerPool } from '../../runtime/concurrency/limited-concurrency.ts'
import type { Log } from '../../runtime/log.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'
import { type RecordedUse, dueMsOf, mustPrecede, recordedUseOf } from './flush-policy.ts'
import { type RecordDeps, record } from './write.ts'

/** How activity is recorded, and its observer. */
interface ActivityRecorderOptions extends RecordDeps {
  /** Those in force now. */
  readonly caps: () => Caps
  /** One that is never far ahead of the API server's: see held-back-clock.ts. */
  readonly clock: Clock
  readonly log: Log
  /** Writes of keys whose end does not hang on them (`--activity-writes-per-second`). */
  readonly budgetPerSecond: number
  /** From 0 to below 1; asked once. */
  readonly random: () => number
  readonly observer: ActivityObserver
}

/** Called for each write of a use, for metrics. */
interface ActivityObserver {
  readonly written: () => void
  /** It could not be recorded; of a key that slides that is tried again. */
  readonly failed: () => void
}

/** Where a use is by now: stored, to be stored soon, or not to be stored: then it must not go on. */
export type Noted = 'recorded' | 'later' | 'unavailable'

/** The uses of keys (contract 14.1). No method rejects. */
export interface ActivityRecorder {
  /**
   * A request that was let pass begins. To be awaited before it goes on: a sliding key of which the
   * recorded use is old gets this one recorded first. Where that fails the request is refused, and may
   * count all the same: a write in flight can't be taken back.
   */
  readonly started: (caller: Caller) => Promise<Noted>
  /** Bytes of a stream flow. Cheap enough for every piece of it. */
  readonly flowed: (caller: Caller) => void
  /** Records what is not recorded yet, sliding keys first. To be called when nothing more comes. */
  readonly flush: () => Promise<void>
}

/** Records uses from now on. */
export const createActivityRecorder = (options: ActivityRecorderOptions): ActivityRecorder =>
  new Recorder(options)

/** The uses of one key that are not recorded yet. */
interface Use {
  /** As it was last read or written. */
  key: AccessKey
  readonly firstMs: number
  lastMs: number
  /** When they are to be written; NEVER where no moment is set. */
  dueMs: number
  /** The write that is under way: whether it was answered. */
  writing: Promise<boolean> | null
}

/** Few enough to leave connections for requests that a client waits for. */
const AT_A_TIME = 8
/** A write without an answer is abandoned after this time, and repeated where it is still needed. */
const WRITE_WITHIN_MS = 3000
/** A write that failed is made again after this part of the time there is. */
const RETRY_PART = 1 / 16
const SHORTEST_RETRY_MS = 100
/** At a shutdown each write is made so often at most: there may be many. */
const LAST_TRIES = 3

const LATER = Promise.resolve('later' as const)

class Recorder implements ActivityRecorder {
  readonly #options: ActivityRecorderOptions
  readonly #uses = new Map<string, Use>()
  readonly #deadlines: TimerHeap
  readonly #closing = new AbortController()
  readonly #place: number
  #isFailing = false

  constructor(options: ActivityRecorderOptions) {
    const { clock, budgetPerSecond } = options
    const lane = (atATime: number, pauseMs: number): ((uid: string) => void) =>
      createWorkerPool({
        clock,
        atATime,
        pauseMs,
        signal: this.#closing.signal,
        run: (uid) => this.#turn(uid),
      })
    const sliding = lane(AT_A_TIME, 0)
    const others = lane(1, 1000 / budgetPerSecond)
    this.#options = options
    this.#place = options.random()
    this.#deadlines = new TimerHeap(clock, (uid) => {
      const use = this.#uses.get(uid)
      if (use) (this.#standingOf(use).slides ? sliding : others)(uid)
    })
  }

  readonly started = ({ key }: Caller): Promise<Noted> => {
    const requestMs = this.#options.clock.nowMs()
    const { use, standing } = this.#note(key, requestMs)
    return mustPrecede(standing, requestMs) ? this.#precede(use, requestMs) : LATER
  }

  readonly flowed = ({ key }: Caller): void => {
    const nowMs = this.#options.clock.nowMs()
    const use = this.#uses.get(key.uid)
    if (use) use.lastMs = nowMs
    else this.#note(key, nowMs)
  }

  readonly flush = async (): Promise<void> => {
    this.#closing.abort()
    this.#deadlines.clear()
    const uses = [...this.#uses.values()]
    const [sliding, others] = [true, false].map((slides) =>
      uses.filter((use) => this.#standingOf(use).slides === slides),
    )
    const left = [...(sliding ?? []), ...(others ?? [])].values()
    let lost = 0
    const writers = Array.from({ length: AT_A_TIME }, async () => {
      for (const use of left) if (!(await this.#writeLast(use))) lost += 1
    })
    await Promise.all(writers)
    if (lost > 0) this.#options.log.warn({ lost }, 'the last uses of access keys are not recorded')
  }

  /** @returns whether nothing is left to be recorded */
  async #writeLast(use: Use): Promise<boolean> {
    // What is under way may have begun before the last use.
    await use.writing
    for (let tries = LAST_TRIES; tries > 0 && this.#isUnrecorded(use); tries -= 1) {
      if (!(await this.#write(use)))
        await sleep(this.#options.clock, SHORTEST_RETRY_MS, new AbortController().signal)
    }
    return !this.#isUnrecorded(use)
  }

  #note(key: AccessKey, nowMs: number): { readonly use: Use; readonly standing: RecordedUse } {
    const known = this.#uses.get(key.uid)
    const use = known ?? { key, firstMs: nowMs, lastMs: nowMs, dueMs: NEVER, writing: null }
    use.lastMs = nowMs
    const standing = this.#standingOf(use)
    if (!known && nowMs > standing.recordedMs && !standing.hasEnded) this.#uses.set(key.uid, use)
    this.#await(use, standing)
    return { use, standing }
  }

  async #precede(use: Use, requestMs: number): Promise<Noted> {
    for (;;) {
      const standing = this.#standingOf(use)
      if (standing.hasEnded) return 'unavailable'
      if (!mustPrecede(standing, requestMs)) return 'recorded'
      if (!(await this.#write(use))) return 'unavailable'
    }
  }

  /** @returns whether it wrote: another replica may have done so meanwhile */
  async #turn(uid: string): Promise<boolean> {
    const use = this.#uses.get(uid)
    if (!use) return false
    if (!this.#isDue(use, use.lastMs, this.#standingOf(use))) {
      this.#settle(use)
      return false
    }
    await this.#write(use)
    return true
  }

  /** One write at a time for each key. @returns whether it was answered */
  #write(use: Use): Promise<boolean> {
    use.writing ??= this.#attempt(use).finally(() => {
      use.writing = null
    })
    return use.writing
  }

  async #attempt(use: Use): Promise<boolean> {
    const { caps, clock, observer } = this.#options
    const limit = new AbortController()
    const cancel = clock.schedule(WRITE_WITHIN_MS, () => limit.abort())
    const atMs = use.lastMs
    try {
      const recorded = await record(this.#options, {
        key: this.#latest(use),
        atMs,
        isWanted: (key) => this.#isDue(use, atMs, recordedUseOf(key, caps(), clock.nowMs())),
        signal: limit.signal,
      })
      this.#reportWrite(null)
      if (recorded === null) {
        this.#forget(use)
        return false
      }
      if (recorded.written) observer.written()
      use.key = recorded.key
      this.#settle(use)
      return true
    } catch (err) {
      observer.failed()
      this.#reportWrite(err)
      this.#again(use)
      return false
    } finally {
      cancel()
    }
  }

  /** Whether the use of that moment is to be written over what stands there. */
  #isDue(use: Use, atMs: number, standing: RecordedUse): boolean {
    if (standing.hasEnded || atMs <= standing.recordedMs) return false
    return (
      this.#closing.signal.aborted ||
      dueMsOf(use, standing, this.#place) <= this.#options.clock.nowMs()
    )
  }

  #isUnrecorded(use: Use): boolean {
    const { hasEnded, recordedMs } = this.#standingOf(use)
    return !hasEnded && use.lastMs > recordedMs
  }

  /** Forgets a use that is recorded, or sets the moment of the next write. */
  #settle(use: Use): void {
    use.dueMs = NEVER
    if (this.#isUnrecorded(use)) this.#await(use, this.#standingOf(use))
    else this.#forget(use)
  }

  #await(use: Use, standing: RecordedUse): void {
    const dueMs = dueMsOf(use, standing, this.#place)
    if (dueMs < use.dueMs) this.#set(use, dueMs)
  }

  /** Of a key that does not slide the next use is as good as this one: it is left out. */
  #again(use: Use): void {
    const { clock } = this.#options
    const { slides, withinMs } = this.#standingOf(use)
    if (!slides || !this.#isUnrecorded(use)) this.#forget(use)
    else this.#set(use, clock.nowMs() + Math.max(withinMs * RETRY_PART, SHORTEST_RETRY_MS))
  }

  #set(use: Use, dueMs: number): void {
    const { uid } = use.key
    if (this.#closing.signal.aborted || this.#uses.get(uid) !== use) return
    use.dueMs = dueMs
    this.#deadlines.set(uid, dueMs)
  }

  #forget(use: Use): void {
    const { uid } = use.key
    if (this.#uses.get(uid) !== use) return
    this.#uses.delete(uid)
    this.#deadlines.delete(uid)
  }

  #standingOf(use: Use): RecordedUse {
    const { caps, clock } = this.#options
    return recordedUseOf(this.#latest(use), caps(), clock.nowMs())
  }

  /** As the store has it; where that knows no such key (yet), as it was read. */
  #latest({ key }: Use): AccessKey {
    const stored = this.#options.keys.get(key.name)
    return stored?.uid === key.uid ? stored : key
  }

  /** Once for each time that it begins or ends, however many keys there are. */
  #reportWrite(err: unknown): void {
    const { log } = this.#options
    const isFailing = err !== null
    if (isFailing && !this.#isFailing) log.warn({ err }, 'uses of access keys can not be recorded')
    if (!isFailing && this.#isFailing) log.info({}, 'uses of access keys are recorded again')
    this.#isFailing = isFailing
  }
}

const NEVER = Number.POSITIVE_INFINITY
