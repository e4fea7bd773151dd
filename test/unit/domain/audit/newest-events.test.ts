// The newest of many events, within bounds (contract 22.4).
import { expect, test } from 'vitest'
import { eventFieldsOf } from '../../../../src/domain/audit/event-fields.ts'
import { NewestEvents } from '../../../../src/domain/audit/newest-events.ts'
import { type BuiltEvent, numberedEvent } from '../../../support/audit-event-builder.ts'
import { randomFrom } from '../../../support/random.ts'

const WIDE = { count: 1000, characters: 1_000_000 }

function add(newest: NewestEvents, number: number, fields: BuiltEvent = {}, text?: string): void {
  const read = eventFieldsOf(numberedEvent(number, fields))
  if (read === null) throw new Error('no event')
  newest.add(read, () => text ?? String(number))
}

test('the newest are kept in whatever order events come (22.4)', () => {
  const random = randomFrom(7)
  const numbers = Array.from({ length: 500 }, (_, at) => at)
  for (let round = 0; round < 20; round += 1) {
    const newest = new NewestEvents({ count: 40, characters: 1_000_000 })
    for (const number of numbers.toSorted(() => random.between(-1, 1))) add(newest, number)
    const expected = Array.from({ length: 40 }, (_, at) => String(499 - at))
    expect(newest.newestFirst()).toEqual(expected)
    expect(newest.hasDropped).toBe(true)
  }
})

test('the later one of two events of one time is first (22.4)', () => {
  const newest = new NewestEvents({ count: 2, characters: 1000 })
  for (const id of ['a', 'b', 'c']) add(newest, 1, { auditID: id }, id)
  expect(newest.newestFirst()).toEqual(['c', 'b'])
})

test('an event is kept once for each source, auditID and stage (22.3)', () => {
  const newest = new NewestEvents(WIDE)
  const twice = [
    {},
    { stage: 'ResponseStarted' },
    { annotations: { 'platform.sh/source': 'agent:a' } },
  ]
  for (const fields of [...twice, ...twice]) add(newest, 1, { auditID: 'same', ...fields })
  expect(newest.newestFirst()).toHaveLength(3)
  expect(newest.hasDropped).toBe(false)
})

test('a double of an event that found no room does not come back as newer (22.4)', () => {
  const newest = new NewestEvents({ count: 2, characters: 1000 })
  for (const number of [1, 2, 3, 1, 2, 3]) add(newest, number)
  expect(newest.newestFirst()).toEqual(['3', '2'])
})

test('exactly as many as there is room for is not more (22.4)', () => {
  const newest = new NewestEvents({ count: 2, characters: 1000 })
  for (const number of [1, 2]) add(newest, number)
  expect(newest.hasDropped).toBe(false)
  expect(newest.earliestMs).toBeNull()
  add(newest, 0)
  expect(newest.hasDropped).toBe(true)
  expect(newest.earliestMs).toBe(Date.UTC(2026, 10, 28, 12) + 1000)
})

test('texts are bounded together, and none is left out between two that are kept (22.4)', () => {
  const newest = new NewestEvents({ count: 1000, characters: 100 })
  add(newest, 1, {}, 'x'.repeat(10))
  add(newest, 5, {}, 'x'.repeat(60))
  add(newest, 3, {}, 'y'.repeat(60))
  add(newest, 2, {}, 'z')
  add(newest, 6, {}, 'w')
  expect(newest.newestFirst()).toEqual(['w', 'x'.repeat(60)])
  expect(newest.hasDropped).toBe(true)
})

test('one event is kept whatever its length (22.4)', () => {
  const newest = new NewestEvents({ count: 1000, characters: 100 })
  add(newest, 1, {}, 'x'.repeat(1000))
  expect(newest.newestFirst()).toHaveLength(1)
})
