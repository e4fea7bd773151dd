import { backoffMs } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'

/** Most urgent first. */
const PRIORITIES = ['change', 'due', 'resync'] as const

/**
 * Why a key is queued. `change`: its object changed. `due`: its scheduled time or its retry has come. `resync`: all
 * keys are reconciled again, after a restart or a change of settings.
 */
export type Priority = (typeof PRIORITIES)[number]

/** Callbacks for the workqueue_* metrics. Durations are in seconds. */
export interface QueueObserver {
  added(): void
  retried(): void
  waited(seconds: number): void
  worked(seconds: number): void
}

/** Holds keys back while work would fail, such as during an outage of the API server. */
interface QueueGate {
  /** Called before a worker takes a key; null = no key may be taken now. After a probe `probed` must be called. */
  admit(): 'freely' | 'as a probe' | null
  /** Called when the reconcile of the probe's key has finished. */
  probed(): void
  /**
   * Adds a listener that is called when `admit` may return another answer.
   *
   * @returns removes it
   */
  whenOpen(listener: () => void): () => void
}

/** Back-off per key: `baseDelayMs` after the first failure, doubled each time up to `maxDelayMs`. */
interface QueueOptions {
  readonly clock: Clock
  /**
   * How many keys of priority `resync` are reconciled at a time, while more urgent ones have no work (RESYNC_CALM_MS);
   * null = as many as there are workers, whatever else has work.
   */
  readonly resyncsAtOnce: number | null
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  readonly observer: QueueObserver
  readonly gate: QueueGate
}

/**
 * The preferred priority of each of ten takes: mostly changes, a fair share for `due`, as expiries must be seen
 * within a second, and one `resync`, so that it never starves.
 */
const TAKE_ORDER: readonly Priority[] = [
  'change',
  'change',
  'due',
  'change',
  'change',
  'due',
  'change',
  'change',
  'due',
  'resync',
]

/**
 * Resyncs are reconciled one at a time for so long after a more urgent key had work: the next one is not to wait behind
 * their writes, which keep a small API server busy.
 */
const RESYNC_CALM_MS = 1000

/** A reconcile takes less when it only finds that nothing is to do, as after each of our own writes. */
const WORK_MS = 1

/** A reconcile in flight. */
interface InFlight {
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  readonly isProbe: boolean
  readonly priority: Priority
  /** The priority to queue the key with afterwards; null = it was not added meanwhile. */
  requeueAs: Priority | null
}

/**
 * Keys that wait to be reconciled. A key is queued once, however often it is added, and reconciled by one worker at a
 * time. A key added during its reconcile is queued again after it.
 */
export class WorkQueue {
  readonly #options: QueueOptions
  readonly #queues: Readonly<Record<Priority, KeyFifo>> = {
    change: new KeyFifo(),
    due: new KeyFifo(),
    resync: new KeyFifo(),
  }
  readonly #inFlight = new Map<string, InFlight>()
  readonly #failures = new Map<string, number>()
  readonly #scheduled: TimerHeap
  readonly #waitingWorkers: ((key: string | null) => void)[] = []
  readonly #leaveGate: () => void
  #takeCount = 0
  #resyncsInFlight = 0
  /** When a key of another priority has last had work, in monotonic milliseconds. */
  #urgentWorkMs = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#scheduled = new TimerHeap(options.clock, (key) => this.add(key, 'due'))
    this.#leaveGate = options.gate.whenOpen(() => this.#handOut())
  }

  /** Number of queued keys, without those scheduled for later. */
  get depth(): number {
    const { change, due, resync } = this.#queues
    return change.size + due.size + resync.size
  }

  /** Duration so far of the longest reconcile in flight, in seconds; 0 = none. */
  get longestWorkSeconds(): number {
    const first = this.#inFlight.values().next().value
    return first ? (this.#options.clock.monotonicMs() - first.sinceMs) / 1000 : 0
  }

  /** Sum of the durations so far of all reconciles in flight, in seconds. */
  get unfinishedWorkSeconds(): number {
    const nowMs = this.#options.clock.monotonicMs()
    const eachMs = [...this.#inFlight.values()].map(({ sinceMs }) => nowMs - sinceMs)
    return eachMs.reduce((sum, ms) => sum + ms, 0) / 1000
  }

  /** Longest wait of a queued key so far, in seconds; 0 = none is queued. Iterates over all queued keys. */
  get longestWaitSeconds(): number {
    const nowMs = this.#options.clock.monotonicMs()
    // Not just the first key of each priority: a key that changed priority keeps its time, but not its place.
    const oldestMs = Math.min(
      ...PRIORITIES.map((priority) => this.#queues[priority].earliestMs()),
      nowMs,
    )
    return (nowMs - oldestMs) / 1000
  }

  /** Adds the key, or raises its priority. */
  add(key: string, priority: Priority): void {
    if (this.#closed) return
    const inFlight = this.#inFlight.get(key)
    if (inFlight) {
      if (inFlight.requeueAs === null || isMoreUrgent(priority, inFlight.requeueAs))
        inFlight.requeueAs = priority
      return
    }
    const previous = PRIORITIES.find((one) => this.#queues[one].has(key))
    if (previous !== undefined && !isMoreUrgent(priority, previous)) return
    const waitingSinceMs = previous && this.#queues[previous].take(key)
    this.#queues[priority].push(key, waitingSinceMs ?? this.#options.clock.monotonicMs())
    if (previous === undefined) this.#options.observer.added()
    this.#handOut()
  }

  /** Adds a key again that is being reconciled, with the priority that it was taken with. */
  requeue(key: string): void {
    const inFlight = this.#inFlight.get(key)
    if (inFlight) this.add(key, inFlight.priority)
  }

  /**
   * Adds the key with priority `due` at a time in epoch milliseconds, which replaces a time set before. A take of
   * the key drops the time.
   */
  addAt(key: string, atMs: number): void {
    if (!this.#closed) this.#scheduled.set(key, atMs)
  }

  /** Drops the time set by addAt or retry, and resets the back-off of the key. */
  forget(key: string): void {
    this.#scheduled.delete(key)
    this.#failures.delete(key)
  }

  /**
   * Adds the key after its back-off, but not before `atLeastMs` (Retry-After) is over.
   *
   * @param longestMs the longest back-off of this failure; null = `maxDelayMs`
   * @returns the delay in milliseconds
   */
  retry(key: string, atLeastMs: number, longestMs: number | null = null): number {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const { baseDelayMs, maxDelayMs, clock, observer } = this.#options
    const delayMs = Math.max(
      backoffMs({ firstMs: baseDelayMs, longestMs: longestMs ?? maxDelayMs }, failures),
      atLeastMs,
    )
    observer.retried()
    // A change during the reconcile, perhaps by our own write, must wait for Retry-After as well.
    const inFlight = this.#inFlight.get(key)
    if (inFlight && atLeastMs > 0) inFlight.requeueAs = null
    this.addAt(key, clock.nowMs() + delayMs)
    return delayMs
  }

  /** Resolves with the next key once one is queued and the gate admits it; null = the queue is closed. */
  async take(): Promise<string | null> {
    if (this.#closed) return null
    const key = this.#next()
    if (key !== null) return key
    return new Promise((resolve) => this.#waitingWorkers.push(resolve))
  }

  /** Call it when the reconcile of the key has finished. */
  done(key: string): void {
    const inFlight = this.#inFlight.get(key)
    if (!inFlight) return
    this.#inFlight.delete(key)
    const nowMs = this.#options.clock.monotonicMs()
    const tookMs = nowMs - inFlight.sinceMs
    this.#options.observer.worked(tookMs / 1000)
    if (inFlight.priority === 'resync') this.#resyncsInFlight -= 1
    else if (tookMs >= WORK_MS) this.#urgentWorkMs = nowMs
    if (inFlight.requeueAs) this.add(key, inFlight.requeueAs)
    if (inFlight.isProbe) this.#options.gate.probed()
    this.#handOut()
  }

  /** Closes the queue: waiting workers and later takes get null. */
  close(): void {
    this.#closed = true
    this.#leaveGate()
    this.#scheduled.clear()
    for (const worker of this.#waitingWorkers.splice(0)) worker(null)
  }

  #handOut(): void {
    while (this.#waitingWorkers.length > 0) {
      const key = this.#next()
      if (key === null) return
      this.#waitingWorkers.shift()?.(key)
    }
  }

  #next(): string | null {
    const priority = this.#nextPriority()
    // Ask the gate only if a key can be taken: a probe without a key would block the gate.
    const admitted = priority && this.#options.gate.admit()
    if (priority === null || admitted === null) return null
    const first = this.#queues[priority].shift()
    if (first === null) return null
    const [key, sinceMs] = first
    // This reconcile sets the next time. A time set before could fire during it and cut its Retry-After short.
    this.#scheduled.delete(key)
    this.#takeCount += 1
    const nowMs = this.#options.clock.monotonicMs()
    this.#options.observer.waited((nowMs - sinceMs) / 1000)
    const isProbe = admitted === 'as a probe'
    if (priority === 'resync') this.#resyncsInFlight += 1
    this.#inFlight.set(key, { sinceMs: nowMs, isProbe, priority, requeueAs: null })
    return key
  }

  /** The priority that TAKE_ORDER prefers, or the most urgent one if no key of that can be taken; null = none can. */
  #nextPriority(): Priority | null {
    const preferred = TAKE_ORDER[this.#takeCount % TAKE_ORDER.length] ?? 'change'
    if (this.#canTake(preferred)) return preferred
    return PRIORITIES.find((priority) => this.#canTake(priority)) ?? null
  }

  #canTake(priority: Priority): boolean {
    return this.#queues[priority].size > 0 && (priority !== 'resync' || this.#hasRoomForResync())
  }

  #hasRoomForResync(): boolean {
    const { resyncsAtOnce, clock } = this.#options
    if (resyncsAtOnce === null) return true
    const isCalm = clock.monotonicMs() - this.#urgentWorkMs >= RESYNC_CALM_MS
    return this.#resyncsInFlight < (isCalm ? resyncsAtOnce : 1)
  }
}

const isMoreUrgent = (priority: Priority, than: Priority): boolean =>
  PRIORITIES.indexOf(priority) < PRIORITIES.indexOf(than)

/**
 * A FIFO queue of keys, each with the monotonic time since when it waits. All takes share one iterator: a new one
 * would step over every entry removed before.
 */
class KeyFifo {
  readonly #sinceMs = new Map<string, number>()
  #entries = this.#sinceMs.entries()

  get size(): number {
    return this.#sinceMs.size
  }

  has(key: string): boolean {
    return this.#sinceMs.has(key)
  }

  /** Appends a key, which must not be in the queue. */
  push(key: string, sinceMs: number): void {
    this.#sinceMs.set(key, sinceMs)
  }

  /** Removes a key and returns its time; undefined = the key is not in the queue. */
  take(key: string): number | undefined {
    const sinceMs = this.#sinceMs.get(key)
    this.#sinceMs.delete(key)
    return sinceMs
  }

  /** Removes the first key; null = the queue is empty. */
  shift(): readonly [key: string, sinceMs: number] | null {
    if (this.#sinceMs.size === 0) return null
    let first = this.#entries.next()
    if (first.done) {
      // An iterator that has ended never returns keys that are added later.
      this.#entries = this.#sinceMs.entries()
      first = this.#entries.next()
    }
    if (first.done) return null
    this.#sinceMs.delete(first.value[0])
    return first.value
  }

  /** The earliest time since when a key waits; infinity = the queue is empty. Iterates over all keys. */
  earliestMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const sinceMs of this.#sinceMs.values()) earliestMs = Math.min(earliestMs, sinceMs)
    return earliestMs
  }
}
