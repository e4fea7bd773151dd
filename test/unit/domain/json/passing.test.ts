// What passes of a list or a map: what stores keep of many objects is not copied without need (docs/sizing.md).
import { describe, expect, test } from 'vitest'
import { entriesPassing, passing } from '../../../../src/domain/json/json.ts'

const isEven = (number: number): boolean => number % 2 === 0
const isNamedEven = (_: string, number: number): boolean => isEven(number)

describe('the entries of a list that pass', () => {
  test('are the list itself where all do', () => {
    const list = [2, 4]
    expect(passing(list, isEven)).toBe(list)
  })

  test('are those alone where some do not', () => {
    expect(passing([1, 2, 3, 4], isEven)).toEqual([2, 4])
    expect(passing([1], isEven)).toEqual([])
  })
})

describe('the entries of a map that pass', () => {
  test('are the map itself where all do', () => {
    const map = { a: 2, b: 4 }
    expect(entriesPassing(map, isNamedEven)).toBe(map)
  })

  test('are those alone where some do not', () => {
    expect(entriesPassing({ a: 1, b: 2 }, isNamedEven)).toEqual({ b: 2 })
    expect(entriesPassing({ a: 2, b: 2 }, (name) => name === 'a')).toEqual({ a: 2 })
  })

  test('are one map for all where none does', () => {
    const none = entriesPassing({ a: 1 }, isNamedEven)
    expect(none).toEqual({})
    expect(entriesPassing({}, isNamedEven)).toBe(none)
  })
})
