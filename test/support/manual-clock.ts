import { onTestFinished } from 'vitest'
import type { WorkQueue } from '../../src/kube/controller/work-queue.ts'
import { type Clock, LONGEST_TIMER_MS } from '../../src/runtime/clock.ts'

type QueueGate = ConstructorParameters<typeof WorkQueue>[0]['gate']

/** A clock that only a test moves. As in the real one, no timer exceeds a minute. */
export interface ManualClock extends Clock {
  /**
   * Moves wall clock and monotonic counter on together and fires what falls due, earliest first,
   * each at its own moment; callbacks may schedule more. Returns after the promises that they
   * settled have run.
   */
  advance(ms: number): Promise<void>
  /** Steps the wall clock alone, as an administrator or NTP does; nothing fires. */
  setNow(nowMs: number): void
  /** Steps the monotonic counter alone (a wall clock that was set back meanwhile); nothing fires. */
  setMonotonic(monotonicMs: number): void
  /** The number of pending timers. */
  pending(): number
}

interface Timer {
  readonly dueMs: number
  readonly callback: () => void
}

/** Starts at the given epoch milliseconds, its monotonic counter at 0. */
export function manualClock(startMs: number): ManualClock {
  let nowMs = startMs
  let monotonicMs = 0
  let timers: readonly Timer[] = []

  const move = (ms: number): void => {
    nowMs += ms
    monotonicMs += ms
  }
  const earliest = (untilMs: number): Timer | undefined =>
    timers.filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs)[0]

  return {
    nowMs: () => nowMs,
    monotonicMs: () => monotonicMs,
    schedule: (delayMs, callback) => {
      const timer = {
        dueMs: monotonicMs + Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS),
        callback,
      }
      timers = [...timers, timer]
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    advance: async (ms) => {
      const untilMs = monotonicMs + ms
      await settled()
      for (let timer = earliest(untilMs); timer; timer = earliest(untilMs)) {
        const fired = timer
        timers = timers.filter((other) => other !== fired)
        move(Math.max(fired.dueMs - monotonicMs, 0))
        fired.callback()
        await settled()
      }
      move(untilMs - monotonicMs)
      await settled()
    },
    setNow: (ms) => {
      nowMs = ms
    },
    setMonotonic: (ms) => {
      monotonicMs = ms
    },
    pending: () => timers.length,
  }
}

/** All promise callbacks run before an immediate does. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

// Counts work in each turn of the event loop, without measuring time.

/** A clock that advances by `tickMs` at each read, so that the work of one turn does not depend on the machine. */
export function tickingClock(startMs: number, tickMs: number) {
  const clock = manualClock(startMs)
  let tickedMs = 0
  const monotonicMs = (): number => {
    tickedMs += tickMs
    return clock.monotonicMs() + tickedMs
  }
  return { ...clock, monotonicMs } satisfies Clock
}

/** Counts calls in each turn of the event loop; `most` is the highest count so far. */
export function countPerTurn() {
  let now = 0
  let most = 0
  let all = 0
  let turn = setImmediate(function next() {
    now = 0
    turn = setImmediate(next)
  })
  onTestFinished(() => clearImmediate(turn))
  return {
    count: () => {
      now += 1
      all += 1
      most = Math.max(most, now)
    },
    most: () => most,
    all: () => all,
  }
}

/** A work queue gate that is always open. */
export const OPEN_GATE: QueueGate = {
  admit: () => 'freely',
  probed: () => undefined,
  whenOpen: () => () => undefined,
}
