// How often passwords may be tried, and what floods do to others.
import { describe, expect, test } from 'vitest'
import {
  type CountedAttempt,
  createAttemptLimits,
} from '../../../../src/signin/password/attempt-limits.ts'
import { repeated } from '../../../support/tier.ts'
import { usedHeapMiB } from '../../../support/heap.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Ada at one address, in a browser that is not known. */
const attempt = (fields: Partial<CountedAttempt> = {}): CountedAttempt => ({
  username: 'ada',
  address: '192.0.2.1',
  isKnown: false,
  ...fields,
})

/** Counts the attempts that are allowed before the first one that is limited, all at one time. */
function allowedOf(attempts: (at: number) => CountedAttempt, limits = createAttemptLimits()) {
  for (let at = 0; at < 1000; at += 1)
    if (limits.admit(attempts(at), 0).kind === 'limited') return at
  return null
}

const ipv4 = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`

describe('attempts (25.5)', () => {
  test.each([
    { name: 'of a name from one address', of: () => attempt(), most: 3 },
    {
      name: 'of other names from one address',
      of: (at: number) => attempt({ username: `n${at}` }),
      most: 25,
    },
    {
      name: 'of a name from other addresses',
      of: (at: number) => attempt({ address: ipv4(at) }),
      most: 30,
    },
    { name: 'of a known browser', of: () => attempt({ isKnown: true }), most: 3 },
    {
      name: 'of a known browser that moves',
      of: (at: number) => attempt({ isKnown: true, address: ipv4(at) }),
      most: 3,
    },
    {
      name: 'of a name from one network of IPv6',
      of: (at: number) => attempt({ address: `2001:db8:0:1::${at}` }),
      most: 3,
    },
    {
      name: 'of other names from one network of IPv6',
      of: (at: number) => attempt({ username: `n${at}`, address: `2001:db8:0:1:${at}::` }),
      most: 25,
    },
    {
      name: 'of a name from networks of IPv6',
      of: (at: number) => attempt({ address: `2001:db8:0:${at}::1` }),
      most: 30,
    },
    {
      name: 'of one address in both its spellings',
      of: (at: number) => attempt({ address: at % 2 === 0 ? '192.0.2.1' : '::ffff:192.0.2.1' }),
      most: 3,
    },
    {
      name: 'of texts that are no address',
      of: (at: number) => attempt({ username: `n${at}`, address: `x${at}` }),
      most: 25,
    },
    {
      name: 'of other names and addresses',
      of: (at: number) => attempt({ username: `n${at}`, address: ipv4(at) }),
      most: null,
    },
  ])('$name are limited to $most', ({ of, most }) => {
    expect(allowedOf(of)).toBe(most)
  })

  test.each([
    { name: 'a name from one address', of: () => attempt(), most: 3, withinMs: MINUTE_MS },
    {
      name: 'an address',
      of: (at: number) => attempt({ username: `n${at}` }),
      most: 25,
      withinMs: MINUTE_MS,
    },
    {
      name: 'a name',
      of: (at: number) => attempt({ address: ipv4(at) }),
      most: 30,
      withinMs: HOUR_MS,
    },
    {
      name: 'a known browser',
      of: () => attempt({ isKnown: true }),
      most: 3,
      withinMs: MINUTE_MS,
    },
  ])('of $name are allowed again once the first is old, and one for each', (row) => {
    const { of, most, withinMs } = row
    const limits = createAttemptLimits()
    const verdicts: unknown[] = []
    for (let at = 0; at < most; at += 1) verdicts.push(limits.admit(of(at), at * 100).kind)
    expect(new Set(verdicts)).toEqual(new Set(['allowed']))
    const next = of(most)
    const seconds = withinMs / 1000
    expect(limits.admit(next, (most - 1) * 100)).toEqual({
      kind: 'limited',
      retryAfterSeconds: Math.ceil(seconds - ((most - 1) * 100) / 1000),
    })
    expect(limits.admit(next, withinMs - 1)).toEqual({ kind: 'limited', retryAfterSeconds: 1 })
    expect(limits.admit(next, withinMs)).toEqual({ kind: 'allowed' })
    expect(limits.admit(next, withinMs + 99)).toMatchObject({ kind: 'limited' })
    expect(limits.admit(next, withinMs + 100)).toEqual({ kind: 'allowed' })
  })

  test('who is limited and tries on is allowed as soon as told', () => {
    const limits = createAttemptLimits()
    for (let at = 0; at < 3; at += 1) limits.admit(attempt(), 0)
    for (let ms = 0; ms < MINUTE_MS; ms += 100)
      expect(limits.admit(attempt(), ms).kind).toBe('limited')
    expect(limits.admit(attempt(), MINUTE_MS).kind).toBe('allowed')
  })
})

describe('a flood (25.5, SG)', () => {
  test('of 10,000 addresses on one name locks no known browser out', () => {
    const limits = createAttemptLimits()
    for (let at = 0; at < 10_000; at += 1) limits.admit(attempt({ address: ipv4(at) }), at)
    expect(limits.admit(attempt({ address: '192.0.2.9' }), 10_000).kind).toBe('limited')
    const known = attempt({ address: '192.0.2.9', isKnown: true })
    expect(limits.admit(known, 10_000).kind).toBe('allowed')
  })

  test('from the address of a known browser does not lock it out', () => {
    const limits = createAttemptLimits()
    for (let at = 0; at < 100; at += 1) limits.admit(attempt({ username: `n${at}` }), 0)
    expect(limits.admit(attempt({ username: 'bob' }), 0).kind).toBe('limited')
    expect(limits.admit(attempt({ isKnown: true }), 0).kind).toBe('allowed')
  })

  test('of long names keeps 10,000 counters, and no text of a name', () => {
    const limits = createAttemptLimits()
    const flood = (count: number, filler: string): void => {
      for (let at = 0; at < count; at += 1) {
        // As a form has it: a text of its own, which shares no part with the filler.
        const username = Buffer.from(`${at}${filler}`).toString('latin1')
        limits.admit(attempt({ username, address: ipv4(at) }), 0)
      }
    }
    flood(repeated(4000, 200_000), '')
    expect(limits.size()).toBe(10_000)
    const beforeMiB = usedHeapMiB()
    flood(20_000, 'x'.repeat(4000))
    expect(limits.size()).toBe(10_000)
    expect(usedHeapMiB() - beforeMiB).toBeLessThan(5)
  })

  test('that is refused displaces no counter of others', () => {
    const limits = createAttemptLimits()
    for (let at = 0; at < 30; at += 1) limits.admit(attempt({ address: ipv4(at) }), 0)
    for (let at = 0; at < 25; at += 1) limits.admit(attempt({ username: `n${at}` }), 0)
    const size = limits.size()
    for (let at = 0; at < 20_000; at += 1) limits.admit(attempt({ username: `m${at}` }), 1)
    expect(limits.size()).toBe(size)
    expect(limits.admit(attempt({ address: '198.51.100.1' }), 1).kind).toBe('limited')
  })
})
