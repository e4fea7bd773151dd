import { describe, expect, test } from 'vitest'
import { type JsonMap, sameJson, settingsToJson } from '../../../../src/domain/json/json.ts'
import {
  mergeSettings,
  sourceOfPath,
  withoutEqualValues,
  withoutPathsOf,
} from '../../../../src/domain/settings/layers.ts'

describe('mergeSettings', () => {
  test.each<{ name: string; above: JsonMap; below: JsonMap; gives: JsonMap }>([
    {
      name: 'maps merge',
      above: { a: { x: 1 } },
      below: { a: { y: 2 } },
      gives: { a: { x: 1, y: 2 } },
    },
    {
      name: 'the higher source wins',
      above: { a: { x: 1 } },
      below: { a: { x: 2 } },
      gives: { a: { x: 1 } },
    },
    { name: 'lists replace', above: { a: [1] }, below: { a: [2, 3] }, gives: { a: [1] } },
    { name: 'an empty list replaces too', above: { a: [] }, below: { a: [2] }, gives: { a: [] } },
    { name: '0 is a value', above: { a: 0 }, below: { a: 9 }, gives: { a: 0 } },
    { name: 'a value replaces a map', above: { a: 1 }, below: { a: { x: 2 } }, gives: { a: 1 } },
    {
      name: 'a map replaces a value',
      above: { a: { x: 2 } },
      below: { a: 1 },
      gives: { a: { x: 2 } },
    },
    { name: 'no higher source', above: {}, below: { a: [1] }, gives: { a: [1] } },
  ])('$name', ({ above, below, gives }) => {
    expect(mergeSettings(above, below)).toEqual(gives)
  })

  test('gives precedence to the first of many', () => {
    expect(mergeSettings({ a: 1 }, { a: 2, b: 2 }, { a: 3, b: 3, c: 3 })).toEqual({
      a: 1,
      b: 2,
      c: 3,
    })
  })

  test('treats names of object properties like any other', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    )
    const merged = mergeSettings(hostile, { toString: { a: 1 } }, hostile)
    expect(Object.keys(merged).sort()).toEqual(['__proto__', 'constructor', 'toString'])
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect(settingsToJson({}) as { polluted?: unknown }).not.toHaveProperty('polluted')
    expect(mergeSettings({ a: 1 }, {}).constructor).toBe(Object)
  })
})

describe('sourceOfPath', () => {
  const layers = [
    { source: 'spec', settings: { a: { x: 1, list: [{ id: 'a' }] }, v: 5 } },
    {
      source: 'Secret',
      settings: { a: { y: 2, list: [{ secret: 's' }] }, b: { z: 3 }, v: { x: 1 } },
    },
  ] as const
  test.each([
    { name: 'set in the higher source', path: ['a', 'x'], source: 'spec' },
    { name: 'set only in the lower source', path: ['a', 'y'], source: 'Secret' },
    { name: 'a map that both sources set', path: ['a'], source: 'spec' },
    {
      name: 'inside a list that replaced another',
      path: ['a', 'list', 0, 'secret'],
      source: 'spec',
    },
    { name: 'below a value that replaced a map', path: ['v', 'x'], source: 'spec' },
    { name: 'missing: its parent', path: ['b', 'missing'], source: 'Secret' },
    { name: 'without a parent: the whole source', path: ['c', 'd'], source: 'spec' },
  ])('$name', ({ path, source }) => {
    expect(sourceOfPath(layers, path)).toBe(source)
  })
  test('is undefined when no layer has a value', () => {
    expect(sourceOfPath([{ source: 'spec', settings: {} }], ['a'])).toBeUndefined()
  })
})

describe('withoutPathsOf and withoutEqualValues', () => {
  test.each<{ name: string; from: JsonMap; taken: JsonMap; places: JsonMap; equals: JsonMap }>([
    {
      name: 'another value',
      from: { a: { x: 1, y: 2 } },
      taken: { a: { x: 9 } },
      places: { a: { y: 2 } },
      equals: { a: { x: 1, y: 2 } },
    },
    {
      name: 'the same value',
      from: { a: { x: 1, y: 2 } },
      taken: { a: { x: 1 } },
      places: { a: { y: 2 } },
      equals: { a: { y: 2 } },
    },
    {
      name: 'empty maps are removed',
      from: { a: { x: 1 } },
      taken: { a: { x: 1 } },
      places: {},
      equals: {},
    },
    {
      name: 'a list as a whole',
      from: { a: [1, 2] },
      taken: { a: [1] },
      places: {},
      equals: { a: [1, 2] },
    },
    { name: 'nothing', from: { a: [1] }, taken: {}, places: { a: [1] }, equals: { a: [1] } },
  ])('$name', ({ from, taken, places, equals }) => {
    expect(withoutPathsOf(from, taken)).toEqual(places)
    expect(withoutEqualValues(from, taken)).toEqual(equals)
  })
})

test('sameJson ignores the order of names and compares the order of entries', () => {
  expect(sameJson({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 })).toBe(true)
  expect(sameJson({ a: [1, 2] }, { a: [2, 1] })).toBe(false)
})
