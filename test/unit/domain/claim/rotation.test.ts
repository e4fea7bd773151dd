/** @module-tag no-retry */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  dueMs,
  elderEndMs,
  isLifetimeTooShort,
  jitterOf,
} from '../../../../src/domain/claim/rotation.ts'

const T0 = Date.UTC(2026, 10, 21, 10)
const HOUR = 3600
const DAY = 86_400
const YEAR = 365 * DAY

/** A uid as the API server gives it, always the same for a number. */
function uidOf(number: number): string {
  const hex = hash('sha256', `claim ${number}`)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

describe('when a credential is due (28.5)', () => {
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly lifetime: number; readonly rotateAfter?: number; readonly jitter?: number; readonly due: number }[] = [
    { name: 'two thirds of its lifetime', lifetime: 30 * DAY, due: 20 * DAY },
    { name: 'a lifetime that has no whole thirds', lifetime: 1000, due: 666 },
    { name: 'rotateAfter', lifetime: 30 * DAY, rotateAfter: HOUR, due: HOUR },
    { name: 'rotateAfter longer than two thirds', lifetime: 30 * DAY, rotateAfter: 24 * DAY, due: 24 * DAY },
    { name: 'rotateAfter of five sixths', lifetime: 30 * DAY, rotateAfter: 25 * DAY, due: 25 * DAY },
    { name: 'rotateAfter beyond five sixths', lifetime: 30 * DAY, rotateAfter: 29 * DAY, due: 25 * DAY },
    { name: 'rotateAfter beyond the lifetime', lifetime: 600, rotateAfter: 2_147_483_647, due: 500 },
    { name: 'the shortest lifetime', lifetime: 120, due: 80 },
    { name: 'the longest lifetime', lifetime: 2_147_483_647, due: 1_431_655_764 },
    { name: 'half a tenth earlier', lifetime: 30 * DAY, jitter: 0.5, due: 19 * DAY },
    { name: 'nearly a tenth earlier', lifetime: 30 * DAY, jitter: 0.999_999, due: 18 * DAY },
    { name: 'rotateAfter, a tenth of it earlier', lifetime: 30 * DAY, rotateAfter: 1000, jitter: 0.999_999, due: 900 },
    { name: 'five sixths, a tenth of it earlier', lifetime: 600, rotateAfter: 600, jitter: 0.999_999, due: 450 },
  ]
  test.each(rows)('$name', ({ lifetime, rotateAfter, jitter = 0, due }) => {
    expect(
      dueMs({
        creationMs: T0,
        lifetimeSeconds: lifetime,
        rotateAfterSeconds: rotateAfter ?? null,
        jitter,
      }),
    ).toBe(T0 + due * 1000)
  })

  test.each([
    { lifetime: 0, tooShort: true },
    { lifetime: 119, tooShort: true },
    { lifetime: 120, tooShort: false },
  ])('a lifetime of $lifetime s is too short: $tooShort', ({ lifetime, tooShort }) => {
    expect(isLifetimeTooShort(lifetime)).toBe(tooShort)
  })
})

describe('when an elder ends (28.5)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'without overlap at its own end', overlap: null, ownEnd: 600, end: 600 },
    { name: 'with overlap 0 at the delivery', overlap: 0, ownEnd: 600, end: 0 },
    { name: 'after the overlap', overlap: 300, ownEnd: 600, end: 300 },
    { name: 'after an overlap until its own end', overlap: 600, ownEnd: 600, end: 600 },
    { name: 'at its own end before the overlap is over', overlap: 601, ownEnd: 600, end: 600 },
    { name: 'at its own end, which has passed', overlap: 300, ownEnd: -5, end: -5 },
  ])('$name', ({ overlap, ownEnd, end }) => {
    const elder = { deliveredMs: T0, overlapSeconds: overlap, expiresMs: T0 + ownEnd * 1000 }
    expect(elderEndMs(elder)).toBe(T0 + end * 1000)
  })
})

describe('the jitter of claims (28.5)', () => {
  const count = 10_000
  // biome-ignore format: a table
  test.each([
    { name: 'uids of the API server', uidAt: uidOf },
    { name: 'uids that differ in the last digits', uidAt: (at: number) => `7d9f0a52-0b5e-4c6e-9a61-${String(at).padStart(12, '0')}` },
    { name: 'uids that differ in the first digits', uidAt: (at: number) => `${String(at).padStart(8, '0')}-0b5e-4c6e-9a61-3f1c2d4b5a69` },
  ])('spreads over all tenths: $name', ({ uidAt }) => {
    const jitters = Array.from({ length: count }, (_, at) => jitterOf(uidAt(at)))
    const tenths = Map.groupBy(jitters, (jitter) => Math.floor(jitter * 10))
    expect(tenths.size).toBe(10)
    expect(Math.max(...tenths.keys())).toBe(9)
    for (const found of tenths.values()) {
      expect(found.length).toBeGreaterThan(count * 0.08)
      expect(found.length).toBeLessThan(count * 0.12)
    }
  })

  test('is the same for the same uid, whatever else the claim has', () => {
    expect(jitterOf(uidOf(1))).toBe(jitterOf(uidOf(1)))
    expect(jitterOf('')).toBeGreaterThanOrEqual(0)
  })

  test('spreads a thousand claims of one commit: no minute has more than three in a hundred', () => {
    const minutes = Map.groupBy(
      Array.from({ length: 1000 }, (_, at) => at),
      (at) =>
        Math.floor(
          dueMs({
            creationMs: T0,
            lifetimeSeconds: DAY,
            rotateAfterSeconds: null,
            jitter: jitterOf(uidOf(at)),
          }) / 60_000,
        ),
    )
    expect(Math.max(...[...minutes.values()].map(({ length }) => length))).toBeLessThanOrEqual(30)
    expect(minutes.size).toBeGreaterThan(80)
  })
})

/** Seconds from the creation of a key until its Secret has it: it becomes Ready, and then a second passes (28.3). */
const DELIVERY = 3
/** Seconds between two replacements at least (28.5). */
const APART = 30

interface Course {
  readonly ttl: number
  readonly rotateAfter: number | null
  /** Seconds at a moment; absent = there is none. */
  readonly capAt?: (second: number) => number
  /** The process does not run from `away` until `back`, in seconds. */
  readonly away?: readonly [number, number]
  readonly jitter: number
}

interface Replacement {
  readonly atMs: number
  /** When the elder stopped working. */
  readonly elderEndsMs: number
}

/** Runs a process for a year: it looks when a rotation is due, and every minute where settings change. */
function replacementsOfYear({
  ttl,
  rotateAfter,
  capAt,
  away = [0, 0],
  jitter,
}: Course): readonly Replacement[] {
  const replacements: Replacement[] = []
  const isSteady = capAt === undefined && away[1] === 0
  let creationMs = T0
  let nowMs = T0
  while (nowMs < T0 + YEAR * 1000) {
    const second = (nowMs - T0) / 1000
    const lifetimeSeconds = Math.min(ttl, capAt?.(second) ?? ttl)
    const due = { creationMs, lifetimeSeconds, rotateAfterSeconds: rotateAfter, jitter }
    const nextMs = Math.max(dueMs(due), creationMs + APART * 1000)
    const runs = second < away[0] || second >= away[1]
    if (runs && nextMs <= nowMs && !isLifetimeTooShort(lifetimeSeconds)) {
      replacements.push({ atMs: nowMs, elderEndsMs: creationMs + lifetimeSeconds * 1000 })
      creationMs = nowMs
    }
    const minuteMs = (Math.floor(nowMs / 60_000) + 1) * 60_000
    nowMs =
      isSteady || (nextMs > nowMs && nextMs < minuteMs) ? Math.max(nextMs, nowMs + 1) : minuteMs
  }
  return replacements
}

describe('a year of rotations (28.5)', () => {
  const steadyRows = [
    { ttl: 120, rotateAfter: null },
    { ttl: 600, rotateAfter: null },
    { ttl: 600, rotateAfter: 300 },
    { ttl: 600, rotateAfter: 599 },
    { ttl: HOUR, rotateAfter: null },
    { ttl: DAY, rotateAfter: 300 },
    { ttl: DAY, rotateAfter: DAY },
    { ttl: 30 * DAY, rotateAfter: null },
    { ttl: 30 * DAY, rotateAfter: 7 * DAY },
    { ttl: 2_147_483_647, rotateAfter: null },
    { ttl: 2_147_483_647, rotateAfter: 30 * DAY },
  ].flatMap((row) => [0, 0.37, 0.999_99].map((jitter) => ({ ...row, jitter })))

  test.each(steadyRows)('ttl $ttl, rotateAfter $rotateAfter, jitter $jitter', (row) => {
    const { ttl, rotateAfter, jitter } = row
    const replacements = replacementsOfYear(row)
    const period = Math.floor(
      Math.min(rotateAfter ?? (ttl * 2) / 3, (ttl * 5) / 6) * (1 - jitter / 10),
    )
    expect(replacements.length).toBe(Math.ceil(YEAR / period) - 1)
    expectNoGap(replacements)
  })

  // A jitter of 0.5: 380 s of 600 s, 2280 s of an hour, 19 of 30 days. A lowered cap may end a key at once.
  // biome-ignore format: a table
  test.each([
    { name: 'a cap is lowered for the second half', capAt: (at: number) => (at < YEAR / 2 ? 30 * DAY : HOUR), count: 9 + 6916, late: 1 },
    { name: 'a cap is raised for the second half', capAt: (at: number) => (at < YEAR / 2 ? HOUR : 30 * DAY), count: 6915 + 9, late: 0 },
    { name: 'a cap swings every day', capAt: (at: number) => (Math.floor(at / DAY) % 2 === 0 ? 600 : 7 * DAY), count: 227 + 182 * 228, late: 182 },
    { name: 'a cap is at the limit', capAt: () => 120, count: YEAR / 76, late: 0 },
  ])('$name: no loop', ({ capAt, count, late }) => {
    const course = { ttl: 30 * DAY, rotateAfter: null, capAt, jitter: 0.5 }
    const replacements = replacementsOfYear(course)
    expect(replacements.length).toBe(Math.floor(count))
    expect(closest(replacements)).toBeGreaterThanOrEqual(APART * 1000)
    expect(replacements.filter(isLate)).toHaveLength(late)
  })

  test('a cap below the limit makes nothing, and a raised one catches up once', () => {
    const capAt = (at: number) => (at > DAY && at < 40 * DAY ? 60 : 30 * DAY)
    const replacements = replacementsOfYear({ ttl: 30 * DAY, rotateAfter: null, capAt, jitter: 0 })
    const seconds = replacements.map(({ atMs }) => (atMs - T0) / 1000)
    expect(seconds.filter((at) => at > DAY && at < 40 * DAY)).toEqual([])
    expect(seconds.filter((at) => at < 41 * DAY)).toHaveLength(1)
  })

  test.each([
    { name: 'of an hour ends meanwhile, and is replaced once', ttl: HOUR, ends: true },
    { name: 'of 30 days lives on, and is replaced once', ttl: 30 * DAY, ends: false },
  ])('the process is away for a day: a key $name', ({ ttl, ends }) => {
    const due = Math.floor((ttl * 2) / 3)
    const away = [due - 60, due - 60 + DAY] as const
    const replacements = replacementsOfYear({ ttl, rotateAfter: null, away, jitter: 0 })
    const [first] = replacements
    expect(first?.atMs).toBe(T0 + Math.ceil(away[1] / 60) * 60_000)
    expect((first?.elderEndsMs ?? 0) < (first?.atMs ?? 0)).toBe(ends)
    expectNoGap(replacements.slice(1))
  })
})

/** The shortest time between two replacements, in milliseconds. */
const closest = (replacements: readonly Replacement[]): number =>
  replacements
    .slice(1)
    .map(({ atMs }, at) => atMs - (replacements[at]?.atMs ?? 0))
    .reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)

/** Whether the elder ended before the Secret had the new key. */
const isLate = ({ atMs, elderEndsMs }: Replacement): boolean =>
  atMs + DELIVERY * 1000 >= elderEndsMs

function expectNoGap(replacements: readonly Replacement[]): void {
  expect(closest(replacements)).toBeGreaterThanOrEqual(APART * 1000)
  expect(replacements.filter(isLate)).toEqual([])
}
