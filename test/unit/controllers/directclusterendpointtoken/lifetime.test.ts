/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  type Cut,
  capEndMs,
  tokenLifetimeOf,
} from '../../../../src/controllers/directclusterendpointtoken/lifetime.ts'
import { after } from '../../../support/key-builder.ts'

interface Row {
  readonly name: string
  /** Seconds; absent = 0. */
  readonly ttl?: number
  /** Seconds; absent = none. */
  readonly cap?: number
  /** Seconds; absent = a day. */
  readonly limit?: number
  /** Seconds after creation; absent = it never ends, or there is none. */
  readonly owner?: number
  /** Seconds after creation. */
  readonly ends: number
  readonly cut: Cut | null
}

const DAY = 86_400
const LONGEST_TTL = 2_147_483_647

const lifetime = ({ ttl = 0, cap, limit = DAY, owner }: Omit<Row, 'name' | 'ends' | 'cut'>) =>
  tokenLifetimeOf(
    { creationMs: after(0), ttl },
    {
      caps: { maxTtlSeconds: cap ?? null, loginTtlSeconds: 1 },
      maxTtlMs: limit * 1000,
      ownerExpiresMs: owner === undefined ? null : after(owner),
    },
  )

describe("a token's exp and what cuts it (2.4)", () => {
  // biome-ignore format: a table
  const rows: readonly Row[] = [
    { name: 'ttl absent or 0: a day', ends: DAY, cut: null },
    { name: 'a second', ttl: 1, ends: 1, cut: null },
    { name: 'exactly the limit', ttl: DAY, ends: DAY, cut: null },
    { name: 'a second above the limit', ttl: DAY + 1, ends: DAY, cut: 'CappedByLimit' },
    { name: '30 days', ttl: 30 * DAY, ends: DAY, cut: 'CappedByLimit' },
    { name: 'the longest ttl', ttl: LONGEST_TTL, ends: DAY, cut: 'CappedByLimit' },
    { name: 'the longest limit', ttl: 30 * DAY, limit: 5 * DAY, ends: 5 * DAY, cut: 'CappedByLimit' },
    { name: 'a limit below the default', limit: 3600, ends: 3600, cut: 'CappedByLimit' },
    { name: 'a limit with a fraction', ttl: 60, limit: 1.5, ends: 1, cut: 'CappedByLimit' },
    { name: 'a cap above its ttl', ttl: 60, cap: 90, ends: 60, cut: null },
    { name: 'a cap of its ttl', ttl: 60, cap: 60, ends: 60, cut: null },
    { name: 'a cap below its ttl', ttl: 60, cap: 59, ends: 59, cut: 'CappedByConfig' },
    { name: 'a cap below the default', cap: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'an owner that outlives it', ttl: 60, owner: 90, ends: 60, cut: null },
    { name: 'an owner that ends with it', ttl: 60, owner: 60, ends: 60, cut: null },
    { name: 'an owner that ends before it', ttl: 60, owner: 30, ends: 30, cut: 'CappedByOwner' },
    { name: 'an owner that ended before its creation', ttl: 60, owner: -5, ends: -5, cut: 'CappedByOwner' },
    { name: 'a fraction of a second is cut off', ttl: 60, owner: 30.999, ends: 30, cut: 'CappedByOwner' },
    { name: 'a fraction alone cuts nothing', ttl: 60, owner: 60.4, ends: 60, cut: null },
    { name: 'a fraction below its end costs a second', ttl: 60, owner: 59.999, ends: 59, cut: 'CappedByOwner' },
    { name: 'the nearest of all: Config', ttl: 600, cap: 90, owner: 100, limit: 110, ends: 90, cut: 'CappedByConfig' },
    { name: 'the nearest of all: the owner', ttl: 600, cap: 100, owner: 90, limit: 110, ends: 90, cut: 'CappedByOwner' },
    { name: 'the nearest of all: the limit', ttl: 600, cap: 110, owner: 100, limit: 90, ends: 90, cut: 'CappedByLimit' },
    { name: 'the nearest of all: its own', ttl: 80, cap: 110, owner: 100, limit: 90, ends: 80, cut: null },
    { name: 'a tie: Config before the owner', ttl: 600, cap: 90, owner: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie: Config before the limit', ttl: 600, cap: 90, limit: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie: the owner before the limit', ttl: 600, owner: 90, limit: 90, ends: 90, cut: 'CappedByOwner' },
    { name: 'a tie of all', ttl: 600, cap: 90, owner: 90, limit: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie of all with its own', ttl: 90, cap: 90, owner: 90, limit: 90, ends: 90, cut: null },
    { name: 'within a second the nearer counts', ttl: 600, cap: 91, owner: 90.5, ends: 90, cut: 'CappedByOwner' },
  ]
  test.each(rows)('$name', ({ ends, cut, ...given }) => {
    expect(lifetime(given)).toMatchObject({ expiresMs: after(ends), cut })
  })

  test.each([
    { name: 'absent or 0', ttl: 0, own: DAY },
    { name: 'given', ttl: 60, own: 60 },
    { name: 'far above every limit', ttl: LONGEST_TTL, own: LONGEST_TTL },
  ])('its own lifetime is told in seconds, whatever cuts it: ttl $name', ({ ttl, own }) => {
    expect(lifetime({ ttl, cap: 5 }).ownSeconds).toBe(own)
  })
})

describe('when the cap ends what was created then (2.2)', () => {
  test.each([
    { name: 'no cap', cap: null, ends: null },
    { name: 'a second', cap: 1, ends: after(1) },
    { name: '30 days', cap: 30 * DAY, ends: after(30 * DAY) },
  ])('$name', ({ cap, ends }) => {
    expect(capEndMs(after(0), { maxTtlSeconds: cap, loginTtlSeconds: null })).toBe(ends)
  })
})
