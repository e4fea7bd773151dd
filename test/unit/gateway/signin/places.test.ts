import { describe, expect, test } from 'vitest'
import { MOST_UNDER_WAY, Places } from '../../../../src/gateway/signin/places.ts'

/** Fills all places with requests whose bodies have arrived. */
const full = () => {
  const places = new Places()
  const held = Array.from({ length: MOST_UNDER_WAY }, () => places.take(null))
  return { places, held }
}

describe('a place of a request to sign in (25.1)', () => {
  test('is there for a hundred requests, and for no other', () => {
    const { places, held } = full()
    expect(MOST_UNDER_WAY).toBe(100)
    expect(held).not.toContain(null)
    expect(places.take(null)).toBeNull()
    expect(places.take(() => undefined)).toBeNull()
  })

  test('is free again once, however often it is released', () => {
    const { places, held } = full()
    for (let times = 0; times < 3; times += 1) held[0]?.release()
    expect(places.take(null)).not.toBeNull()
    expect(places.take(null)).toBeNull()
  })

  test('is given up by the request that has waited longest for its body', () => {
    const places = new Places()
    const gave: number[] = []
    const take = (at: number) => {
      const place = places.take(() => {
        gave.push(at)
        place?.release()
      })
      return place
    }
    const held = Array.from({ length: MOST_UNDER_WAY }, (_, at) => take(at))
    held[0]?.bodyArrived()
    held[2]?.bodyArrived()
    expect(places.take(null)).not.toBeNull()
    expect(places.take(null)).not.toBeNull()
    expect(gave).toEqual([1, 3])
    held[1]?.release()
    expect(places.take(null)).not.toBeNull()
    expect(gave).toEqual([1, 3, 4])
  })

  test('is given up by no request while another is free', () => {
    const places = new Places()
    const gave: string[] = []
    for (let taken = 0; taken < MOST_UNDER_WAY; taken += 1) places.take(() => gave.push('one'))
    expect(gave).toEqual([])
  })
})
