import { describe, expect, test } from 'vitest'
import { KeySlots } from '../../../../src/delivery/claims/key-slots.ts'

describe('the pace of keys (28.5)', () => {
  test('ten claims of one moment have slots at equal distances, in the order in which they ask', () => {
    const slots = new KeySlots(10)
    const given = ['a', 'b', 'c'].map((uid) => slots.reserve(uid, 5000))
    expect(given).toEqual([5000, 5100, 5200])
  })

  test('a claim keeps its slot, whatever comes between', () => {
    const slots = new KeySlots(10)
    slots.reserve('a', 5000)
    expect(slots.reserve('b', 5000)).toBe(5100)
    expect(slots.reserve('c', 5050)).toBe(5200)
    expect(slots.reserve('b', 5090)).toBe(5100)
  })

  test('a used slot is not given again: the next of the claim comes after all others', () => {
    const slots = new KeySlots(10)
    slots.reserve('a', 5000)
    slots.reserve('b', 5000)
    slots.release('a')
    expect(slots.reserve('a', 5000)).toBe(5200)
  })

  test('a claim has a slot at once after a pause, and none is saved up', () => {
    const slots = new KeySlots(10)
    slots.reserve('a', 5000)
    expect(slots.reserve('b', 60_000)).toBe(60_000)
    expect(slots.reserve('c', 60_000)).toBe(60_100)
  })
})
