// A clock that was an hour ahead, and is right again: what was made by it must not keep claims waiting for an hour (2.9, 28.5).
import { describe, expect, test } from 'vitest'
import type { ClaimFacts } from '../../../../src/delivery/claims/facts.ts'
import { KeySlots } from '../../../../src/delivery/claims/key-slots.ts'
import { mayReplaceMs } from '../../../../src/delivery/claims/lifetimes.ts'
import { claimOf } from '../../../../src/domain/claim/claim.ts'
import { formatSecond } from '../../../../src/domain/time.ts'
import { claimObject } from '../../../support/object-builder.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 10)
const HOUR_MS = 3_600_000

describe('a clock that was an hour ahead', () => {
  test('leaves no slot an hour ahead (28.5)', () => {
    const slots = new KeySlots(10)
    slots.reserve('a', NOW_MS + HOUR_MS)
    slots.reserve('b', NOW_MS + HOUR_MS)
    const given = ['b', 'c', 'a'].map((uid) => slots.reserve(uid, NOW_MS))
    expect(given).toEqual([NOW_MS, NOW_MS + 100, NOW_MS + 200])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a minute ago', agoMs: 60_000, waitMs: -30_000 },
    { name: 'now', agoMs: 0, waitMs: 30_000 },
    { name: 'a little ahead, by the clock of another replica', agoMs: -5000, waitMs: 35_000 },
    { name: 'an hour ahead', agoMs: -HOUR_MS, waitMs: Number.NEGATIVE_INFINITY },
  ])('a delivery that was $name keeps the next one for $waitMs ms (28.5)', ({ agoMs, waitMs }) => {
    const status = { lastRotation: formatSecond(NOW_MS - agoMs) }
    const facts = {
      claim: claimOf(claimObject({ status })),
      holdings: { key: null, token: null },
      nowMs: NOW_MS,
    }
    expect(mayReplaceMs(facts as unknown as ClaimFacts) - NOW_MS).toBe(waitMs)
  })
})
