import type { Clock } from '../../runtime/clock.ts'
import { backoffMs } from '../../runtime/concurrency/rate-limiter.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'

/** The most urgent first. */
const LANES = ['fresh', 'due', 'refresh'] as const

/**
 * Why a key waits. `fresh`: its object has changed. `due`: its time has come, or it is a retry. `refresh`: a
 * restart or a setting concerns all keys.
 */
export type Priority = (typeof LANES)[number]

/** Callbacks for the workqueue_* metrics. Durations are in seconds. */
export interface QueueObserver {
  added(): void
  retried(): void
  waited(seconds: number): void
  worked(seconds: number): void
}

/** Lets keys through, or holds them back while work would fail. */
export interface QueueGate {
  /** Called before each key is taken; null = none now. After a probe call `probed`. */
  admit(): 'freely' | 'as a probe' | null
  /** The work on the probe's key is done. */
  probed(): void
  /** Adds a listener for when the gate may let more through. */
  whenOpen(listener: () => void): void
}

/** Back-off per key: `baseDelayMs` after the first failure, doubled each time up to `maxDelayMs`. */
interface QueueOptions {
  readonly clock: Clock
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  readonly observer: QueueObserver
  readonly gate: QueueGate
}

/**
 * The preferred lane of each of ten takes. New changes go first. Expiries have a bound of one second, so they
 * get a fair share. A refresh is never starved.
 */
const TURNS: readonly Priority[] = [
  'fresh',
  'fresh',
  'due',
  'fresh',
  'fresh',
  'due',
  'fresh',
  'fresh',
  'due',
  'refresh',
]

interface Held {
  readonly sinceMs: number
  readonly isProbe: boolean
  again: Priority | null
}

/**
 * Keys that wait to be reconciled. A key waits once, however often it is added, and only one worker has it at
 * a time. Added meanwhile, it waits again once that worker is done.
 */
export class WorkQueue {
  readonly #options: QueueOptions
  readonly #lanes: Readonly<Record<Priority, Arrivals>> = {
    fresh: new Arrivals(),
    due: new Arrivals(),
    refresh: new Arrivals(),
  }
  readonly #inHand = new Map<string, Held>()
  readonly #failures = new Map<string, number>()
  readonly #later: TimerHeap
  readonly #takers: ((key: string | null) => void)[] = []
  #taken = 0
  #closed = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#later = new TimerHeap(options.clock, (key) => this.add(key, 'due'))
    options.gate.whenOpen(() => this.#serve())
  }

  /** Keys that wait now, without those whose time is yet to come. */
  get depth(): number {
    const { fresh, due, refresh } = this.#lanes
    return fresh.size + due.size + refresh.size
  }

  /** The longest reconcile in flight, in seconds. */
  get longestWorkSeconds(): number {
    const first = this.#inHand.values().next().value
    return first ? (this.#options.clock.monotonicMs() - first.sinceMs) / 1000 : 0
  }

  /** How long the reconciles in progress have taken so far, as a sum in seconds. */
  get unfinishedWorkSeconds(): number {
    const nowMs = this.#options.clock.monotonicMs()
    const eachMs = [...this.#inHand.values()].map(({ sinceMs }) => nowMs - sinceMs)
    return eachMs.reduce((sum, ms) => sum + ms, 0) / 1000
  }

  /** The longest wait so far, in seconds. Walks over all waiting keys. */
  get longestWaitSeconds(): number {
    const nowMs = this.#options.clock.monotonicMs()
    // Not the first of each lane: a key that changed lanes keeps its time, but not its place.
    const oldestMs = Math.min(...LANES.map((lane) => this.#lanes[lane].earliestMs()), nowMs)
    return (nowMs - oldestMs) / 1000
  }

  /** Adds the key, or moves it here from a less urgent lane. */
  add(key: string, lane: Priority): void {
    if (this.#closed) return
    const held = this.#inHand.get(key)
    if (held) {
      if (held.again === null || isMoreUrgent(lane, held.again)) held.again = lane
      return
    }
    const waitsIn = LANES.find((one) => this.#lanes[one].has(key))
    if (waitsIn !== undefined && !isMoreUrgent(lane, waitsIn)) return
    const waitingSinceMs = waitsIn && this.#lanes[waitsIn].take(key)
    this.#lanes[lane].push(key, waitingSinceMs ?? this.#options.clock.monotonicMs())
    if (waitsIn === undefined) this.#options.observer.added()
    this.#serve()
  }

  /**
   * Adds the key to lane `due` at a time in epoch milliseconds; replaces an earlier time. A take of the key
   * drops the time.
   */
  addAt(key: string, atMs: number): void {
    if (!this.#closed) this.#later.set(key, atMs)
  }

  /** Drops the time of addAt or retry, and the count of failures. */
  forget(key: string): void {
    this.#later.delete(key)
    this.#failures.delete(key)
  }

  /**
   * Adds the key after its back-off, or after `atLeastMs` (Retry-After) where that is longer; never before it.
   *
   * @returns the delay in milliseconds
   */
  retry(key: string, atLeastMs: number): number {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const { baseDelayMs, maxDelayMs, clock, observer } = this.#options
    const delayMs = Math.max(
      backoffMs({ firstMs: baseDelayMs, longestMs: maxDelayMs }, failures),
      atLeastMs,
    )
    observer.retried()
    // A change during the reconcile, such as by an earlier write of ours, must wait for Retry-After as well.
    const held = this.#inHand.get(key)
    if (held && atLeastMs > 0) held.again = null
    this.addAt(key, clock.nowMs() + delayMs)
    return delayMs
  }

  /** The next key, once there is one and the gate passes it; null when the queue is closed. */
  async take(): Promise<string | null> {
    if (this.#closed) return null
    const key = this.#next()
    if (key !== null) return key
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  /** The worker is done with the key. */
  done(key: string): void {
    const held = this.#inHand.get(key)
    if (!held) return
    this.#inHand.delete(key)
    this.#options.observer.worked((this.#options.clock.monotonicMs() - held.sinceMs) / 1000)
    if (held.again) this.add(key, held.again)
    if (held.isProbe) this.#options.gate.probed()
  }

  /** Gives out no more keys: waiting workers get null. */
  close(): void {
    this.#closed = true
    this.#later.clear()
    for (const taker of this.#takers.splice(0)) taker(null)
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      const key = this.#next()
      if (key === null) return
      this.#takers.shift()?.(key)
    }
  }

  #next(): string | null {
    // Only with a key: a probe without one would block the gate.
    const admitted = this.depth > 0 ? this.#options.gate.admit() : null
    if (admitted === null) return null
    const first = this.#lane().shift()
    if (first === null) return null
    const [key, sinceMs] = first
    // This reconcile decides when the next is due: an earlier time that fires meanwhile would cut a Retry-After
    // short.
    this.#later.delete(key)
    this.#taken += 1
    const nowMs = this.#options.clock.monotonicMs()
    this.#options.observer.waited((nowMs - sinceMs) / 1000)
    const isProbe = admitted === 'as a probe'
    this.#inHand.set(key, { sinceMs: nowMs, isProbe, again: null })
    return key
  }

  /** The lane whose turn it is, else the most urgent one with a key. */
  #lane(): Arrivals {
    const turn = this.#lanes[TURNS[this.#taken % TURNS.length] ?? 'fresh']
    const { fresh, due, refresh } = this.#lanes
    return [turn, fresh, due].find(({ size }) => size > 0) ?? refresh
  }
}

const isMoreUrgent = (lane: Priority, than: Priority): boolean =>
  LANES.indexOf(lane) < LANES.indexOf(than)

/**
 * Keys in the order of their arrival, each with the monotonic time since when it waits. One iterator serves
 * all takes: a new one would walk over every entry that was removed before.
 */
class Arrivals {
  readonly #since = new Map<string, number>()
  #entries = this.#since.entries()

  get size(): number {
    return this.#since.size
  }

  has(key: string): boolean {
    return this.#since.has(key)
  }

  /** Appends a key that is not in it. */
  push(key: string, sinceMs: number): void {
    this.#since.set(key, sinceMs)
  }

  /** Removes a key; undefined when it is not in it. */
  take(key: string): number | undefined {
    const sinceMs = this.#since.get(key)
    this.#since.delete(key)
    return sinceMs
  }

  /** Removes the first; null when there is none. */
  shift(): readonly [key: string, sinceMs: number] | null {
    if (this.#since.size === 0) return null
    let first = this.#entries.next()
    if (first.done) {
      // An iterator that has ended stays so, also when keys arrive later.
      this.#entries = this.#since.entries()
      first = this.#entries.next()
    }
    if (first.done) return null
    this.#since.delete(first.value[0])
    return first.value
  }

  /** The earliest time since when one waits; infinity when none does. Walks over all keys. */
  earliestMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const sinceMs of this.#since.values()) earliestMs = Math.min(earliestMs, sinceMs)
    return earliestMs
  }
}
