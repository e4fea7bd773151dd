/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  type CapReason,
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
  readonly cut: CapReason | null
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

describe("a token's exp and what caps it (2.4)", () => {
  // biome-ignore format: a table
  const rows: readonly Row[] = [
    { name: 'ttl absent or 0: a day', ends: DAY, cut: null },
    { name: 'a second', ttl: 1, ends: 1, cut: null },
    { name: 'exactly --token-max-ttl', ttl: DAY, ends: DAY, cut: null },
    { name: 'a second above --token-max-ttl', ttl: DAY + 1, ends: DAY, cut: 'CappedByLimit' },
    { name: '30 days', ttl: 30 * DAY, ends: DAY, cut: 'CappedByLimit' },
    { name: 'the longest possible ttl', ttl: LONGEST_TTL, ends: DAY, cut: 'CappedByLimit' },
    { name: 'the longest possible --token-max-ttl', ttl: 30 * DAY, limit: 5 * DAY, ends: 5 * DAY, cut: 'CappedByLimit' },
    { name: 'a --token-max-ttl below the default', limit: 3600, ends: 3600, cut: 'CappedByLimit' },
    { name: 'a --token-max-ttl with a fraction of a second', ttl: 60, limit: 1.5, ends: 1, cut: 'CappedByLimit' },
    { name: 'a cap above its ttl', ttl: 60, cap: 90, ends: 60, cut: null },
    { name: 'a cap equal to its ttl', ttl: 60, cap: 60, ends: 60, cut: null },
    { name: 'a cap below its ttl', ttl: 60, cap: 59, ends: 59, cut: 'CappedByConfig' },
    { name: 'a cap below the default', cap: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'an owner that outlives it', ttl: 60, owner: 90, ends: 60, cut: null },
    { name: 'an owner that ends with it', ttl: 60, owner: 60, ends: 60, cut: null },
    { name: 'an owner that ends before it', ttl: 60, owner: 30, ends: 30, cut: 'CappedByOwner' },
    { name: 'an owner that ended before its creation', ttl: 60, owner: -5, ends: -5, cut: 'CappedByOwner' },
    { name: 'fractions of a second are dropped', ttl: 60, owner: 30.999, ends: 30, cut: 'CappedByOwner' },
    { name: 'an owner that ends a fraction of a second later', ttl: 60, owner: 60.4, ends: 60, cut: null },
    { name: 'an owner that ends a fraction of a second earlier', ttl: 60, owner: 59.999, ends: 59, cut: 'CappedByOwner' },
    { name: 'the earliest of all: Config', ttl: 600, cap: 90, owner: 100, limit: 110, ends: 90, cut: 'CappedByConfig' },
    { name: 'the earliest of all: the owner', ttl: 600, cap: 100, owner: 90, limit: 110, ends: 90, cut: 'CappedByOwner' },
    { name: 'the earliest of all: --token-max-ttl', ttl: 600, cap: 110, owner: 100, limit: 90, ends: 90, cut: 'CappedByLimit' },
    { name: 'the earliest of all: its ttl', ttl: 80, cap: 110, owner: 100, limit: 90, ends: 80, cut: null },
    { name: 'a tie: Config before the owner', ttl: 600, cap: 90, owner: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie: Config before --token-max-ttl', ttl: 600, cap: 90, limit: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie: the owner before --token-max-ttl', ttl: 600, owner: 90, limit: 90, ends: 90, cut: 'CappedByOwner' },
    { name: 'a tie of all', ttl: 600, cap: 90, owner: 90, limit: 90, ends: 90, cut: 'CappedByConfig' },
    { name: 'a tie of all with its ttl', ttl: 90, cap: 90, owner: 90, limit: 90, ends: 90, cut: null },
    { name: 'the earlier one wins, even within a second', ttl: 600, cap: 91, owner: 90.5, ends: 90, cut: 'CappedByOwner' },
  ]
  test.each(rows)('$name', ({ ends, cut, ...given }) => {
    expect(lifetime(given)).toMatchObject({ expiresMs: after(ends), cut })
  })

  test.each([
    { name: 'absent or 0', ttl: 0, own: DAY },
    { name: 'given', ttl: 60, own: 60 },
    { name: 'far above every limit', ttl: LONGEST_TTL, own: LONGEST_TTL },
  ])('ownSeconds is the uncapped ttl in seconds: ttl $name', ({ ttl, own }) => {
    expect(lifetime({ ttl, cap: 5 }).ownSeconds).toBe(own)
  })
})

describe('the end by the cap of an object created at t0 (2.2)', () => {
  test.each([
    { name: 'no cap', cap: null, ends: null },
    { name: 'a cap of a second', cap: 1, ends: after(1) },
    { name: '30 days', cap: 30 * DAY, ends: after(30 * DAY) },
  ])('$name', ({ cap, ends }) => {
    expect(capEndMs(after(0), { maxTtlSeconds: cap, loginTtlSeconds: null })).toBe(ends)
  })
})
