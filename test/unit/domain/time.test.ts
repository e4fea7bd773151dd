import { describe, expect, test } from 'vitest'
import { formatTimestamp, parseTimestamp } from '../../../src/domain/time.ts'

const NOON = Date.UTC(2026, 10, 21, 12)

describe('formatTimestamp', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a whole second has no fraction', atMs: NOON, text: '2026-11-21T12:00:00Z' },
    { name: 'milliseconds are kept', atMs: NOON + 7, text: '2026-11-21T12:00:00.007Z' },
    { name: 'the epoch', atMs: 0, text: '1970-01-01T00:00:00Z' },
    { name: 'before the epoch', atMs: -1000, text: '1969-12-31T23:59:59Z' },
    { name: 'the longest ttl from 2026 on', atMs: NOON + 2_147_483_647_000, text: '2094-12-09T15:14:07Z' },
    { name: 'the last second of the year 9999', atMs: Date.UTC(9999, 11, 31, 23, 59, 59), text: '9999-12-31T23:59:59Z' },
    { name: 'beyond the year 9999', atMs: Date.UTC(10_000, 0, 1), text: '9999-12-31T23:59:59Z' },
    { name: 'beyond the range of Date', atMs: Number.MAX_SAFE_INTEGER, text: '9999-12-31T23:59:59Z' },
    { name: 'before the year 0', atMs: -62_167_305_540_000, text: '0000-01-01T00:00:00Z' },
  ])('$name: $text', ({ atMs, text }) => {
    expect(formatTimestamp(atMs)).toBe(text)
  })
})

describe('parseTimestamp', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'UTC', text: '2026-11-21T12:00:00Z', ms: 0 },
    { name: 'lower-case letters', text: '2026-11-21t12:00:00z', ms: 0 },
    { name: 'an offset ahead', text: '2026-11-21T14:00:00+02:00', ms: 0 },
    { name: 'an offset behind', text: '2026-11-21T06:30:00-05:30', ms: 0 },
    { name: 'the offset of an unknown place', text: '2026-11-21T12:00:00-00:00', ms: 0 },
    { name: 'one digit of a fraction', text: '2026-11-21T12:00:00.5Z', ms: 500 },
    { name: 'microseconds are cut off', text: '2026-11-21T12:00:00.123999Z', ms: 123 },
    { name: 'nanoseconds are cut off', text: '2026-11-21T12:00:00.000999999Z', ms: 0 },
  ])('$name: $text', ({ text, ms }) => {
    expect(parseTimestamp(text)).toBe(NOON + ms)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a leap day', text: '2028-02-29T00:00:00Z' },
    { name: 'the last second of a day', text: '2026-12-31T23:59:59Z' },
    { name: 'the first day of the year 0', text: '0000-01-01T00:00:00Z' },
    { name: 'the last day of the year 9999', text: '9999-12-31T23:59:59Z' },
  ])('parses $name and formats it back', ({ text }) => {
    expect(formatTimestamp(parseTimestamp(text) ?? 0)).toBe(text)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'absent', text: undefined },
    { name: 'empty', text: '' },
    { name: 'a word', text: 'yesterday' },
    { name: 'a number of seconds', text: '1795262400' },
    { name: 'a date without a time', text: '2026-11-21' },
    { name: 'a space for the T', text: '2026-11-21 12:00:00Z' },
    { name: 'no zone', text: '2026-11-21T12:00:00' },
    { name: 'no seconds', text: '2026-11-21T12:00Z' },
    { name: 'a point without a fraction', text: '2026-11-21T12:00:00.Z' },
    { name: 'a comma before the fraction', text: '2026-11-21T12:00:00,5Z' },
    { name: 'a year of six digits', text: '+012026-11-21T12:00:00Z' },
    { name: 'month 13', text: '2026-13-01T00:00:00Z' },
    { name: 'day 0', text: '2026-11-00T00:00:00Z' },
    { name: 'November 31', text: '2026-11-31T00:00:00Z' },
    { name: 'a leap day in a common year', text: '2026-02-29T00:00:00Z' },
    { name: 'hour 24', text: '2026-11-21T24:00:00Z' },
    { name: 'minute 60', text: '2026-11-21T12:60:00Z' },
    { name: 'a leap second', text: '2026-12-31T23:59:60Z' },
    { name: 'an offset of a whole day', text: '2026-11-21T12:00:00+24:00' },
    { name: 'surrounding blanks', text: ' 2026-11-21T12:00:00Z ' },
    { name: 'a trailing line break', text: '2026-11-21T12:00:00Z\n' },
  ])('gives null for $name', ({ text }) => {
    expect(parseTimestamp(text)).toBeNull()
  })
})
