import { describe, expect, test } from 'vitest'
import { parseDuration } from '../../../src/domain/time.ts'

describe('durations in Go syntax (contract 8.1)', () => {
  test.each([
    { text: '24h', ms: 86_400_000 },
    { text: '1h30m', ms: 5_400_000 },
    { text: '500ms', ms: 500 },
    { text: '1.5s', ms: 1500 },
    { text: '1.1s', ms: 1100 },
    { text: '.5s', ms: 500 },
    { text: '1.s', ms: 1000 },
    { text: '0', ms: 0 },
    { text: '0s', ms: 0 },
    { text: '-0', ms: 0 },
    { text: '+5m', ms: 300_000 },
    { text: '-1.5h', ms: -5_400_000 },
    { text: '1m1ms', ms: 60_001 },
    { text: '2s1s', ms: 3000 },
    { text: '250us', ms: 0.25 },
    { text: '1µs', ms: 0.001 },
    { text: '1μs', ms: 0.001 },
    { text: '1ns', ms: 0.000_001 },
    // As Go parses them: the fraction in floating point, truncated to nanoseconds.
    { text: '0.3333333333333333333h', ms: 1_200_000 },
    { text: '0.333333333333333333h', ms: 1_199_999.999_999 },
    { text: '0.9223372036854775808999h', ms: 3_320_413.933_267 },
    { text: '0.000000000000000000000000000009h', ms: 0 },
    { text: '0.1ns', ms: 0 },
    { text: '-9223372036854775808ns', ms: -9_223_372_036_854.775 },
    { text: `${'0'.repeat(30)}1s`, ms: 1000 },
    { text: '9223372036854775807ns', ms: 9_223_372_036_854.775 },
  ])('$text is $ms ms', ({ text, ms }) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each([
    { name: 'the empty text', text: '' },
    { name: 'only a sign', text: '-' },
    { name: 'two signs', text: '+-1s' },
    { name: 'a number without a unit', text: '60' },
    { name: 'a unit without a number', text: 's' },
    { name: 'a point without digits', text: '.s' },
    { name: 'two points', text: '1.2.3s' },
    { name: 'days, which Go lacks', text: '1d' },
    { name: 'a unit in capitals', text: '1H' },
    { name: 'a space inside', text: '1h 30m' },
    { name: 'a leading space', text: ' 1h' },
    { name: 'a trailing line break', text: '1h\n' },
    { name: 'an exponent', text: '1e3s' },
    { name: 'a number after the last unit', text: '1m30' },
    { name: "one nanosecond above Go's range", text: '9223372036854775808ns' },
    { name: "one nanosecond below Go's range", text: '-9223372036854775809ns' },
    { name: "a sum beyond Go's range", text: '2562047h2562047h' },
    { name: 'non-ASCII digits', text: '१s' },
  ])('$name is malformed', ({ text }) => {
    expect(parseDuration(text)).toBeNull()
  })
})
