import { describe, expect, test } from 'vitest'
import { fitsBatch, MOST_BYTES, nextBatch, outcomeOf } from '../../../../src/audit/agent/batch.ts'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'

const E = (event: string | null) => ({ event, end: 0 })
const long = 'x'.repeat(MOST_BYTES)

describe('a batch (23.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'takes nothing of nothing', lines: [], most: 9, events: [], taken: 0 },
    { name: 'takes all that there is', lines: [E('a'), E('b')], most: 9, events: ['a', 'b'], taken: 2 },
    { name: 'ends with the most events', lines: [E('a'), E('b'), E('c')], most: 2, events: ['a', 'b'], taken: 2 },
    { name: 'skips lines without events', lines: [E(null), E('a'), E(null), E('b')], most: 9, events: ['a', 'b'], taken: 4 },
    { name: 'takes lines without events behind its last one', lines: [E('a'), E(null), E('b')], most: 1, events: ['a'], taken: 2 },
    { name: 'may have no events', lines: [E(null), E(null)], most: 1, events: [], taken: 2 },
    { name: 'has one event, however long', lines: [E(long), E('b')], most: 9, events: [long], taken: 1 },
    { name: 'ends before an event that is too long for it', lines: [E('a'), E(long)], most: 9, events: ['a'], taken: 1 },
  ])('$name', ({ lines, most, events, taken }) => {
    expect(nextBatch(lines, most)).toEqual({ events, lines: taken })
  })

  test('of one event is within the bounds up to its last byte', () => {
    const most = MOST_BYTES - Buffer.byteLength(eventListOf([''], null)) - 2
    expect([most, most + 1].map((length) => fitsBatch('x'.repeat(length)))).toEqual([true, false])
    expect(fitsBatch('€'.repeat(most / 2))).toBe(false)
  })

  test('has three mebibytes of JSON at most, whatever its characters are', () => {
    for (const unit of ['x', '€', '\u{1F600}']) {
      const lines = Array.from({ length: 3000 }, () => E(unit.repeat(1111)))
      const { events } = nextBatch(lines, 5000)
      expect(Buffer.byteLength(eventListOf(events, null))).toBeLessThanOrEqual(MOST_BYTES)
      const more = [...events, unit.repeat(1111)]
      expect(Buffer.byteLength(eventListOf(more, null))).toBeGreaterThan(MOST_BYTES - 4)
    }
  })
})

// biome-ignore format: a table
test.each([
  [200, 'accepted'], [400, 'refused'], [413, 'refused'], [409, 'unwanted'],
  [0, 'again'], [100, 'again'], [201, 'again'], [204, 'again'], [302, 'again'], [401, 'again'], [403, 'again'], [404, 'again'],
  [405, 'again'], [408, 'again'], [421, 'again'], [422, 'again'], [429, 'again'], [500, 'again'], [502, 'again'], [503, 'again'], [504, 'again'],
])('the answer %d means that the batch is %s (23.2)', (code, outcome) => {
  expect(outcomeOf(code)).toBe(outcome)
})
