import { describe, expect, test } from 'vitest'
import { heldBackClock } from '../../../../src/gateway/activity/held-back-clock.ts'
import { t0 } from '../../../support/access-key.ts'
import { manualClock } from '../../../support/clock.ts'

const HOUR_MS = 3_600_000

test.each([
  { name: 'as it is, before anything is heard', heardAfter: null, steps: HOUR_MS, reads: HOUR_MS },
  { name: 'as it is, where both agree', heardAfter: 0, steps: 0, reads: 0 },
  { name: 'as it is, where it is a little ahead', heardAfter: -1500, steps: 0, reads: 0 },
  { name: 'as it is, where it is behind', heardAfter: HOUR_MS, steps: 0, reads: 0 },
  {
    name: 'held back, where it is far ahead',
    heardAfter: -HOUR_MS,
    steps: 0,
    reads: 2000 - HOUR_MS,
  },
  { name: 'held back, once it is set ahead', heardAfter: 0, steps: HOUR_MS, reads: 2000 },
])('$name (2.9)', async ({ heardAfter, steps, reads }) => {
  const clock = manualClock(t0)
  const heldBack = heldBackClock(clock)
  if (heardAfter !== null) heldBack.heard(t0 + heardAfter)
  clock.setNow(t0 + steps)
  expect(heldBack.nowMs()).toBe(t0 + reads)
  await clock.advance(60_000)
  expect(heldBack.nowMs()).toBe(t0 + reads + 60_000)
})

describe('an answer that is looked at late', () => {
  const LATE_MS = 5000

  test('holds nothing back while one that was not is believed (14.1)', async () => {
    const clock = manualClock(t0)
    const heldBack = heldBackClock(clock)
    heldBack.heard(t0)
    await clock.advance(20_000)
    heldBack.heard(t0 + 20_000 - LATE_MS)
    expect(heldBack.nowMs()).toBe(t0 + 20_000)
  })

  test('makes way for the next that is not', async () => {
    const clock = manualClock(t0)
    const heldBack = heldBackClock(clock)
    heldBack.heard(t0 - LATE_MS)
    expect(heldBack.nowMs()).toBe(t0 - LATE_MS + 2000)
    await clock.advance(5000)
    heldBack.heard(t0 + 5000)
    expect(heldBack.nowMs()).toBe(t0 + 5000)
  })

  test('but an API server whose clock is set back is followed after a while (2.9)', async () => {
    const clock = manualClock(t0)
    const heldBack = heldBackClock(clock)
    heldBack.heard(t0)
    await clock.advance(20_000)
    heldBack.heard(t0 + 20_000 - HOUR_MS)
    await clock.advance(10_000)
    heldBack.heard(t0 + 30_000 - HOUR_MS)
    expect(heldBack.nowMs()).toBe(t0 + 32_000 - HOUR_MS)
  })
})
