/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { clampedClock } from '../../../../src/runtime/clock.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const HOUR_MS = 3_600_000

test.each([
  { name: 'as it is, before any answer', answerAfter: null, steps: HOUR_MS, reads: HOUR_MS },
  { name: 'as it is, where both agree', answerAfter: 0, steps: 0, reads: 0 },
  { name: 'as it is, where it is a little ahead', answerAfter: -1500, steps: 0, reads: 0 },
  { name: 'as it is, where it is behind', answerAfter: HOUR_MS, steps: 0, reads: 0 },
  {
    name: 'held back, where it is far ahead',
    answerAfter: -HOUR_MS,
    steps: 0,
    reads: 2000 - HOUR_MS,
  },
  { name: 'held back, once it is set ahead', answerAfter: 0, steps: HOUR_MS, reads: 2000 },
])('the clamped clock reads the local clock $name (2.9)', async ({ answerAfter, steps, reads }) => {
  const clock = manualClock(t0)
  const heldBack = clampedClock(clock)
  if (answerAfter !== null) heldBack.observe(t0 + answerAfter)
  clock.setNow(t0 + steps)
  expect(heldBack.nowMs()).toBe(t0 + reads)
  await clock.advance(60_000)
  expect(heldBack.nowMs()).toBe(t0 + reads + 60_000)
})

describe('an answer that is looked at late', () => {
  const LATE_MS = 5000

  /** What the clock reads after answers with these times, each so long after the one before. */
  async function readAfter(...times: readonly { afterMs: number; behindMs: number }[]) {
    const clock = manualClock(t0)
    const heldBack = clampedClock(clock)
    for (const { afterMs, behindMs } of times) {
      await clock.advance(afterMs)
      heldBack.observe(clock.nowMs() - behindMs)
    }
    return heldBack.nowMs() - clock.nowMs()
  }
  const inTime = { afterMs: 0, behindMs: 0 }

  // biome-ignore format: a table
  test.each([
    { name: 'holds nothing back while one that was not is believed (14.1)', times: [inTime, { afterMs: 20_000, behindMs: LATE_MS }], reads: 0 },
    { name: 'holds back where it is the only one (14.1)', times: [{ afterMs: 0, behindMs: LATE_MS }], reads: 2000 - LATE_MS },
    { name: 'makes way for the next that is not', times: [{ afterMs: 0, behindMs: LATE_MS }, { afterMs: 5000, behindMs: 0 }], reads: 0 },
    { name: 'is none where the clock of the API server is set back, which is followed after a while (2.9)', times: [inTime, { afterMs: 20_000, behindMs: HOUR_MS }, { afterMs: 10_000, behindMs: HOUR_MS }], reads: 2000 - HOUR_MS },
  ])('$name', async ({ times, reads }) => {
    expect(await readAfter(...times)).toBe(reads)
  })
})
