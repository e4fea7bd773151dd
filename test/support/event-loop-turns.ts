// How much is done in one turn of the event loop, told without measuring time.
import { onTestFinished } from 'vitest'
import type { QueueGate } from '../../src/kube/controller/work-queue.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { manualClock } from './clock.ts'

/** A clock on which each look at it takes so long: what runs in one turn is counted, whatever the machine. */
export function tickingClock(startMs: number, tickMs: number) {
  const clock = manualClock(startMs)
  let tickedMs = 0
  const monotonicMs = (): number => {
    tickedMs += tickMs
    return clock.monotonicMs() + tickedMs
  }
  return { ...clock, monotonicMs } satisfies Clock
}

/** Counts what happens in each turn of the event loop; the most in any so far. */
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

/** Lets everything through, always. */
export const OPEN_GATE: QueueGate = {
  admit: () => 'freely',
  probed: () => undefined,
  whenOpen: () => undefined,
}
