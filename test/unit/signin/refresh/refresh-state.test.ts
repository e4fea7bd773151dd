import { describe, expect, it } from 'vitest'
import {
  answered,
  askedAt,
  confirmedAt,
  nextAskMs,
  type RefreshState,
  refreshStateIn,
} from '../../../../src/signin/sessions/refresh-state.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const state = (differs: Partial<RefreshState> = {}): RefreshState => ({
  ...confirmedAt(1000),
  ...differs,
})

describe('when a provider is asked next (25.7)', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 8],
    [6, 32],
    [7, 60],
    [40, 60],
  ])('after %i failures, %i minutes later', (failures, minutes) => {
    const next = nextAskMs('login-a', state({ askedMs: 5000, failures }), HOUR_MS)
    expect(next).toBe(5000 + minutes * MINUTE_MS)
  })

  it('never later than after a short interval', () => {
    expect(nextAskMs('login-a', state({ askedMs: 5000, failures: 1 }), 10_000)).toBe(15_000)
  })

  it.each([
    ['in half of the life of its refresh token', 1_800_000, 900_000],
    ['a minute later where that token ends at once', 1, 60_000],
    ['after the interval where that token lives longer', 86_400_000, null],
  ])('%s', (_, lifeMs, waitMs) => {
    const planned = nextAskMs('login-a', state(), HOUR_MS)
    const next = nextAskMs('login-a', state(), HOUR_MS, 1000 + lifeMs)
    expect(next).toBe(waitMs === null ? planned : 1000 + waitMs)
  })

  it('after the interval, give or take a tenth, spread evenly over the sessions', () => {
    const waits = Array.from(
      { length: 2000 },
      (_, at) => nextAskMs(`login-${at}`, state(), HOUR_MS) - 1000,
    )
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.9 * HOUR_MS)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1.1 * HOUR_MS)
    const tenths = new Map<number, number>()
    for (const wait of waits) {
      const tenth = Math.min(9, Math.floor((wait / HOUR_MS - 0.9) * 50))
      tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1)
    }
    expect([...tenths.values()].every((count) => count > 120 && count < 290)).toBe(true)
  })

  it('at another moment after each refresh, and at the same one for every leader', () => {
    const [first, second] = [0, HOUR_MS].map(
      (confirmedMs) => nextAskMs('login-a', confirmedAt(confirmedMs), HOUR_MS) - confirmedMs,
    )
    expect(first).not.toBe(second)
    expect(nextAskMs('login-a', confirmedAt(0), HOUR_MS)).toBe(first)
  })
})

describe('the state of the refreshes (25.7)', () => {
  it('says before the call that the answer is missing, and counts it', () => {
    const asked = askedAt(state({ failures: 2 }), 9000)
    expect(asked).toEqual({ confirmedMs: 1000, askedMs: 9000, failures: 3, isUnanswered: true })
    expect(answered(asked)).toEqual({ ...asked, isUnanswered: false })
    expect(confirmedAt(9001)).toMatchObject({ askedMs: null, failures: 0, isUnanswered: false })
  })

  it.each([
    ['as it was', askedAt(state(), 9000), askedAt(state(), 9000)],
    [
      'as unanswered where that is missing',
      { confirmedMs: 1 },
      { ...confirmedAt(1), isUnanswered: true },
    ],
    ['as absent without a time', { confirmedMs: '1' }, null],
    ['as absent', undefined, null],
  ])('is read %s', (_, stored, expected) => {
    expect(refreshStateIn(stored)).toEqual(expected)
  })
})
