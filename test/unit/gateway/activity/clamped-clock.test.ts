/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { clampedClock } from '../../../../src/runtime/clock.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const HOUR_MS = 3_600_000

test.each([
  { name: 'unchanged, before any response', answerAfter: null, steps: HOUR_MS, reads: HOUR_MS },
  { name: 'unchanged, when both clocks agree', answerAfter: 0, steps: 0, reads: 0 },
  { name: 'unchanged, when it is slightly ahead', answerAfter: -1500, steps: 0, reads: 0 },
  { name: 'unchanged, when it is behind', answerAfter: HOUR_MS, steps: 0, reads: 0 },
  {
    name: 'clamped, when it is far ahead',
    answerAfter: -HOUR_MS,
    steps: 0,
    reads: 2000 - HOUR_MS,
  },
  { name: 'clamped, once it is stepped ahead', answerAfter: 0, steps: HOUR_MS, reads: 2000 },
])('the clamped clock reads the local clock $name (2.9)', async ({ answerAfter, steps, reads }) => {
  const clock = manualClock(t0)
  const gatewayClock = clampedClock(clock)
  if (answerAfter !== null) gatewayClock.observe(t0 + answerAfter)
  clock.setNow(t0 + steps)
  expect(gatewayClock.nowMs()).toBe(t0 + reads)
  await clock.advance(60_000)
  expect(gatewayClock.nowMs()).toBe(t0 + reads + 60_000)
})

describe('a response that is processed late', () => {
  const LATE_MS = 5000

  /** The clock after responses with these times, each that long after the previous one. */
  async function readAfter(...times: readonly { afterMs: number; behindMs: number }[]) {
    const clock = manualClock(t0)
    const gatewayClock = clampedClock(clock)
    for (const { afterMs, behindMs } of times) {
      await clock.advance(afterMs)
      gatewayClock.observe(clock.nowMs() - behindMs)
    }
    return gatewayClock.nowMs() - clock.nowMs()
  }
  const inTime = { afterMs: 0, behindMs: 0 }

  // biome-ignore format: a table
  test.each([
    { name: 'does not clamp while an earlier response counts (14.1)', times: [inTime, { afterMs: 20_000, behindMs: LATE_MS }], reads: 0 },
    { name: 'clamps when it is the only one (14.1)', times: [{ afterMs: 0, behindMs: LATE_MS }], reads: 2000 - LATE_MS },
    { name: 'is replaced by the next one in time', times: [{ afterMs: 0, behindMs: LATE_MS }, { afterMs: 5000, behindMs: 0 }], reads: 0 },
    { name: "is not assumed when the API server's clock is stepped back, which the clock follows after a while (2.9)", times: [inTime, { afterMs: 20_000, behindMs: HOUR_MS }, { afterMs: 10_000, behindMs: HOUR_MS }], reads: 2000 - HOUR_MS },
  ])('$name', async ({ times, reads }) => {
    expect(await readAfter(...times)).toBe(reads)
  })
})
