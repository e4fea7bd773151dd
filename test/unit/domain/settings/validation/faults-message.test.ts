import { describe, expect, test } from 'vitest'
import {
  CONDITION_MESSAGE_LIMIT,
  EVENT_NOTE_LIMIT,
  type SettingFault,
  faultsMessage,
} from '../../../../../src/domain/settings/validation/faults.ts'

const fault = (path: string, message: string): SettingFault => ({ path, source: 'spec', message })
const many = (count: number): readonly SettingFault[] =>
  Array.from({ length: count }, (_, at) => fault(`a[${at}].b`, 'is bad: write good'))

describe('the message of faults', () => {
  test('names one fault', () => {
    expect(faultsMessage([fault('a.b', 'is bad: write good')], 1024)).toBe(
      '1 fault; the last good settings stay in force: a.b (spec): is bad: write good',
    )
  })
  test('names several faults, one of a whole source', () => {
    const whole: SettingFault = { path: '', source: 'Secret', message: 'is not valid YAML' }
    expect(faultsMessage([whole, fault('a', 'is bad')], 1024)).toBe(
      '2 faults; the last good settings stay in force: Secret: is not valid YAML; a (spec): is bad',
    )
  })
  test.each([
    { count: 20, limit: EVENT_NOTE_LIMIT },
    { count: 27, limit: EVENT_NOTE_LIMIT },
    { count: 5000, limit: EVENT_NOTE_LIMIT },
    { count: 5000, limit: CONDITION_MESSAGE_LIMIT },
  ])('names $count faults in $limit characters', ({ count, limit }) => {
    const message = faultsMessage(many(count), limit)
    const shown = message.split('is bad').length - 1
    const [, more = '0'] = /; and (\d+) more$/.exec(message) ?? []
    expect(message.length).toBeLessThanOrEqual(limit)
    expect(shown + Number(more)).toBe(count)
    expect(message.length).toBeGreaterThan(shown === count ? 0 : limit - 80)
    expect(message).toMatch(/write good(; and \d+ more)?$/)
  })
  test.each([1, 3])('counts %i faults that do not fit', (count) => {
    const message = faultsMessage(Array(count).fill(fault('a', 'x'.repeat(2000))), 1024)
    expect(message.length).toBeLessThanOrEqual(1024)
    expect(message).toMatch(count === 1 ? /x…$/ : /x…; and 2 more$/)
  })
})
