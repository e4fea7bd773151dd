import { describe, expect, test } from 'vitest'
import type { Condition } from '../../../src/api/objects.ts'
import {
  type DesiredCondition,
  findCondition,
  sameConditions,
  withTransitionTimes,
} from '../../../src/domain/conditions.ts'
import { after, textAfter } from '../../support/key-builder.ts'

const active: DesiredCondition = {
  type: 'Ready',
  status: 'True',
  reason: 'Active',
  message: 'It works.',
}
const expired: DesiredCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'Expired',
  message: 'It is over.',
}
const disabled: DesiredCondition = { ...expired, reason: 'Disabled', message: 'It is off.' }
const since = (verdict: DesiredCondition, seconds: number, observedGeneration = 1): Condition => ({
  ...verdict,
  observedGeneration,
  lastTransitionTime: textAfter(seconds),
})

describe('withTransitionTimes changes lastTransitionTime only with the status (contract 4.4)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'the first time', published: [], verdict: active, at: 100 },
    { name: 'nothing changed', published: [since(active, 5)], verdict: active, at: 5 },
    { name: 'True to False', published: [since(active, 5)], verdict: expired, at: 100 },
    { name: 'False to True', published: [since(expired, 5)], verdict: active, at: 100 },
    { name: 'another reason, the same status', published: [since(expired, 5)], verdict: disabled, at: 5 },
    { name: 'another message', published: [since({ ...active, message: 'Before.' }, 5)], verdict: active, at: 5 },
    { name: 'another generation', published: [since(active, 5, 8)], verdict: active, at: 5 },
    { name: 'another type had changed', published: [since({ ...active, type: 'Stalled' }, 5)], verdict: active, at: 100 },
  ])('$name', ({ published, verdict, at }) => {
    expect(withTransitionTimes([verdict], published, 9, after(100))).toEqual([since(verdict, at, 9)])
  })

  test('writes whole seconds', () => {
    expect(withTransitionTimes([active], [], 1, after(100.999))).toEqual([since(active, 100)])
  })

  test('drops a condition that is no longer desired', () => {
    expect(
      withTransitionTimes(
        [active],
        [since(active, 5), since({ ...active, type: 'Stalled' }, 5)],
        1,
        after(9),
      ),
    ).toEqual([since(active, 5)])
  })
})

describe('sameConditions', () => {
  const ready = since(active, 5)
  const stalled = since({ ...active, type: 'Stalled' }, 5)
  // biome-ignore format: a table
  test.each([
    { name: 'none and none', a: [], b: [], same: true },
    { name: 'the same', a: [ready], b: [{ ...ready }], same: true },
    { name: 'another order', a: [ready, stalled], b: [stalled, ready], same: true },
    { name: 'an additional condition', a: [ready], b: [ready, stalled], same: false },
    { name: 'a missing condition', a: [ready, stalled], b: [ready], same: false },
    { name: 'another type', a: [ready], b: [stalled], same: false },
    { name: 'another status', a: [ready], b: [{ ...ready, status: 'Unknown' as const }], same: false },
    { name: 'another reason', a: [ready], b: [{ ...ready, reason: 'Expired' }], same: false },
    { name: 'another message', a: [ready], b: [{ ...ready, message: '' }], same: false },
    { name: 'another generation', a: [ready], b: [since(active, 5, 2)], same: false },
    { name: 'another time', a: [ready], b: [since(active, 6)], same: false },
  ])('is $same: $name', ({ a, b, same }) => {
    expect(sameConditions(a, b)).toBe(same)
  })
})

test('findCondition finds a condition by its type, or is undefined', () => {
  const ready = since(active, 5)
  expect(findCondition([since({ ...active, type: 'Stalled' }, 5), ready], 'Ready')).toBe(ready)
  expect(findCondition([ready], 'Stalled')).toBeUndefined()
})
