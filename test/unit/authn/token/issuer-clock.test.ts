import { describe, expect, test } from 'vitest'
import { createIssuerClock } from '../../../../src/authn/token/issuer-clock.ts'
import { manualClock } from '../../../support/manual-clock.ts'

/** The time of the platform, while the own clock may show another. */
const T = Date.parse('2026-11-21T10:00:00Z')
const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

const clockAt = (ownAheadMs: number) => {
  const own = manualClock(T + ownAheadMs)
  return { own, time: createIssuerClock(own) }
}

describe('a clock that is wrong, while the platform answers (2.9, 9.2; threats F11)', () => {
  test.each([
    { name: 'right', aheadMs: 0, nowAheadMs: 0 },
    { name: 'an hour behind', aheadMs: -HOUR, nowAheadMs: 0 },
    // Tokens end early: that is the safe side.
    { name: 'an hour ahead', aheadMs: HOUR, nowAheadMs: HOUR },
  ])('$name: neither extends nor ends the outage bound', async ({ aheadMs, nowAheadMs }) => {
    const { own, time } = clockAt(aheadMs)
    time.recordResponse({ dateMs: T, monotonicMs: own.monotonicMs(), asOfMs: T - 3 * SECOND })
    expect(time.skewMs()).toBe(aheadMs)
    expect(time.listAgeMs()).toBe(3 * SECOND)
    await own.advance(MINUTE)
    expect(time.listAgeMs()).toBe(63 * SECOND)
    expect(time.nowMs()).toBe(T + nowAheadMs + MINUTE)
  })

  test('a step of the own clock changes no age', async () => {
    const { own, time } = clockAt(0)
    time.recordResponse({ dateMs: T, monotonicMs: 0, asOfMs: T })
    await own.advance(MINUTE)
    for (const stepMs of [HOUR, -HOUR]) {
      own.setNow(T + MINUTE + stepMs)
      expect(time.listAgeMs()).toBe(MINUTE)
      expect(time.nowMs()).toBe(T + MINUTE + Math.max(stepMs, 0))
    }
  })

  test('an answer that took long is as old as its beginning', async () => {
    const { own, time } = clockAt(0)
    await own.advance(10 * SECOND)
    time.recordResponse({ dateMs: T, monotonicMs: 0, asOfMs: T })
    expect(time.listAgeMs()).toBe(10 * SECOND)
    expect(time.skewMs()).toBe(0)
  })

  test('an asOf that is ahead of Date has no negative age, and grows older at once', async () => {
    const { own, time } = clockAt(0)
    time.recordResponse({ dateMs: T, monotonicMs: 0, asOfMs: T + 30 * SECOND })
    expect(time.listAgeMs()).toBe(0)
    expect(time.nowMs()).toBe(T + 30 * SECOND)
    await own.advance(SECOND)
    expect(time.listAgeMs()).toBe(SECOND)
  })

  test('a list that is the same for long grows old, although the platform answers', () => {
    const { own, time } = clockAt(0)
    time.recordResponse({ dateMs: T, monotonicMs: own.monotonicMs(), asOfMs: T })
    time.recordResponse({ dateMs: T + HOUR, monotonicMs: own.monotonicMs(), asOfMs: T })
    expect(time.listAgeMs()).toBe(HOUR)
  })
})

describe('answers that are repeated, by a cache or an attacker (9.2)', () => {
  test('do not stop the time: the list grows old', async () => {
    const { own, time } = clockAt(-HOUR)
    const repeat = (): void =>
      time.recordResponse({ dateMs: T, monotonicMs: own.monotonicMs(), asOfMs: T })
    repeat()
    for (let count = 0; count < 100; count += 1) {
      await own.advance(MINUTE)
      repeat()
    }
    expect(time.listAgeMs()).toBe(99 * MINUTE)
    expect(time.nowMs()).toBe(T + 99 * MINUTE)
  })

  test('of a platform whose clock runs slower are followed within a hundredth', async () => {
    const { own, time } = clockAt(0)
    const hear = (dateMs: number): void =>
      time.recordResponse({ dateMs, monotonicMs: own.monotonicMs(), asOfMs: dateMs })
    hear(T)
    await own.advance(100 * SECOND)
    hear(T + 99.5 * SECOND)
    expect(time.listAgeMs()).toBe(0)
  })

  test('of keys only, let the keys grow old', async () => {
    const { own, time } = clockAt(0)
    time.recordResponse({ dateMs: T, monotonicMs: 0, asOfMs: T })
    time.recordKeys(T)
    await own.advance(HOUR)
    time.recordResponse({ dateMs: T + HOUR, monotonicMs: own.monotonicMs(), asOfMs: T + HOUR })
    time.recordKeys(T)
    expect([time.listAgeMs(), time.keysAgeMs()]).toEqual([0, HOUR])
  })
})

describe('a restart without the issuer (2.9, 9.2)', () => {
  test.each([
    { name: 'right', aheadMs: 0, ageMs: MINUTE, nowMs: T },
    { name: 'an hour ahead', aheadMs: HOUR, ageMs: HOUR + MINUTE, nowMs: T + HOUR },
    // The age begins at 0: the list itself has the latest time.
    { name: 'an hour behind', aheadMs: -HOUR, ageMs: 0, nowMs: T - MINUTE },
  ])(
    'gives the saved time, or a later one, with a clock that is $name',
    async ({ aheadMs, ageMs, nowMs }) => {
      const { own, time } = clockAt(aheadMs)
      time.restore(T - MINUTE)
      expect(time.listAgeMs()).toBe(ageMs)
      expect(time.nowMs()).toBe(nowMs)
      expect(time.skewMs()).toBe(0)
      await own.advance(SECOND)
      expect(time.listAgeMs()).toBe(ageMs + SECOND)
      // The platform is back: its clock counts from now on.
      time.recordResponse({ dateMs: T + SECOND, monotonicMs: own.monotonicMs(), asOfMs: T })
      expect(time.listAgeMs()).toBe(SECOND)
    },
  )
})

test('the age of the list is infinite without one, and the own clock counts (9.2)', () => {
  const { time } = clockAt(0)
  expect(time.listAgeMs()).toBe(Number.POSITIVE_INFINITY)
  expect([time.nowMs(), time.asOfMs(), time.skewMs()]).toEqual([T, null, 0])
})
