import type { Clock } from '../runtime/clock.ts'
import { Arrivals } from './arrivals.ts'
import { Deadlines } from './deadlines.ts'

/** The most urgent first. */
const LANES = ['fresh', 'due', 'refresh'] as const

/**
 * Why a key waits. `fresh`: it has changed, and somebody is waiting for it. `due`: its moment has come, or
 * it is tried again. `refresh`: a restart or a setting touched them all.
 */
export type Lane = (typeof LANES)[number]

/** Told what the queue does, for the workqueue_* metrics. Durations are in seconds. */
export interface QueueObserver {
  added(): void
  retried(): void
  waited(seconds: number): void
  worked(seconds: number): void
}

/** What lets work through, and stops it while it would be in vain. */
export interface Gate {
  /** Asked before each key is handed out; null = none now. A probe is to be followed by `probed`. */
  admit(): 'freely' | 'as a probe' | null
  /** The key that was handed out as a probe is put down. */
  probed(): void
  /** Calls back whenever the gate may let through more than before. */
  whenOpen(listener: () => void): void
}

/** Back-off per key: `baseDelayMs` after the first failure, doubled each time up to `maxDelayMs`. */
export interface QueueOptions {
  readonly clock: Clock
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  readonly observer: QueueObserver
  readonly gate: Gate
}

/**
 * The lane that each of ten keys in a row is taken from, if it has any. What is new goes first; expiries are
 * promised within a second, so much of the work is theirs, and a busy day starves none to refresh.
 */
const TURNS: readonly Lane[] = [
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
  again: Lane | null
}

/**
 * Keys that wait to be reconciled. A key is there once however often it is added, and never in two
 * hands at once: added while in hand, it comes again when it is put down.
 */
export class WorkQueue {
  readonly #options: QueueOptions
  readonly #lanes: Readonly<Record<Lane, Arrivals>> = {
    fresh: new Arrivals(),
    due: new Arrivals(),
    refresh: new Arrivals(),
  }
  readonly #inHand = new Map<string, Held>()
  readonly #failures = new Map<string, number>()
  readonly #later: Deadlines
  readonly #takers: ((key: string | null) => void)[] = []
  #taken = 0
  #closed = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#later = new Deadlines(options.clock, (key) => this.add(key, 'due'))
    options.gate.whenOpen(() => this.#serve())
  }

  /** Keys that wait now, those with a moment to come not counted. */
  get depth(): number {
    const { fresh, due, refresh } = this.#lanes
    return fresh.size + due.size + refresh.size
  }

  /** How long the key in hand the longest is in hand, in seconds. */
  get longestWorkSeconds(): number {
    const first = this.#inHand.values().next().value
    return first ? (this.#options.clock.monotonicMs() - first.sinceMs) / 1000 : 0
  }

  /** How long the key that waits longest has waited, in seconds. Looks at all that wait. */
  get longestWaitSeconds(): number {
    const nowMs = this.#options.clock.monotonicMs()
    // Not the first of each lane: one that changed lanes keeps its place in time, not in the order.
    const oldestMs = Math.min(...LANES.map((lane) => this.#lanes[lane].earliestMs()), nowMs)
    return (nowMs - oldestMs) / 1000
  }

  /** Adds the key, or moves it to this lane where it waits in a less urgent one. */
  add(key: string, lane: Lane): void {
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
   * Adds the key to the lane of those due at a moment in epoch milliseconds; replaces an earlier wish. Once
   * the key is taken, for whatever reason, the wish is gone.
   */
  addAt(key: string, atMs: number): void {
    if (!this.#closed) this.#later.set(key, atMs)
  }

  /** Takes back what addAt and retry asked for, and forgets the key's failures. */
  forget(key: string): void {
    this.#later.delete(key)
    this.#failures.delete(key)
  }

  /**
   * Adds the key after its back-off, or after `atLeastMs` where the server asked for more; then not before.
   *
   * @returns the delay in milliseconds
   */
  retry(key: string, atLeastMs: number): number {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const { baseDelayMs, maxDelayMs, clock, observer } = this.#options
    const delayMs = Math.max(Math.min(baseDelayMs * 2 ** failures, maxDelayMs), atLeastMs)
    observer.retried()
    // What changed while the key was in hand, such as by a write of ours before the one that failed, waits as well.
    const held = this.#inHand.get(key)
    if (held && atLeastMs > 0) held.again = null
    this.addAt(key, clock.nowMs() + delayMs)
    return delayMs
  }

  /** The next key, as soon as there is one and the gate lets it through; null once the queue is closed. */
  async take(): Promise<string | null> {
    if (this.#closed) return null
    const key = this.#next()
    if (key !== null) return key
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  /** Puts the key down. */
  done(key: string): void {
    const held = this.#inHand.get(key)
    if (!held) return
    this.#inHand.delete(key)
    this.#options.observer.worked((this.#options.clock.monotonicMs() - held.sinceMs) / 1000)
    if (held.again) this.add(key, held.again)
    if (held.isProbe) this.#options.gate.probed()
  }

  /** Hands out nothing more: waiting takers get null. */
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
    // Asked only where there is a key: a probe without one would keep others from it.
    const admitted = this.depth > 0 ? this.#options.gate.admit() : null
    if (admitted === null) return null
    const first = this.#lane().shift()
    if (first === null) return null
    const [key, sinceMs] = first
    // What comes of this look decides when the next is due; an earlier wish that fired meanwhile would
    // cut short a wait that the server asks for.
    this.#later.delete(key)
    this.#taken += 1
    const nowMs = this.#options.clock.monotonicMs()
    this.#options.observer.waited((nowMs - sinceMs) / 1000)
    const isProbe = admitted === 'as a probe'
    this.#inHand.set(key, { sinceMs: nowMs, isProbe, again: null })
    return key
  }

  /** The lane whose turn it is, or the most urgent one with a key in it. */
  #lane(): Arrivals {
    const turn = this.#lanes[TURNS[this.#taken % TURNS.length] ?? 'fresh']
    const { fresh, due, refresh } = this.#lanes
    return [turn, fresh, due].find(({ size }) => size > 0) ?? refresh
  }
}

const isMoreUrgent = (lane: Lane, than: Lane): boolean => LANES.indexOf(lane) < LANES.indexOf(than)
