import { describe, expect, test } from 'vitest'
import { nestedField, nestedMap, setNestedField } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { hostLabelKey } from '../../../../src/sync/objects/selectors.ts'
import { ownerOf, hostMetadata } from '../../../../src/sync/objects/host-metadata.ts'
import { withHostMetadata } from '../../../../src/sync/pair/metadata-flows.ts'
import {
  FIELDS,
  PREFIX,
  exchangeOf,
  hostOf,
  metadataOf,
  owner,
  several,
  single,
  unmarked,
  virtualWith,
} from '../metadata-objects.ts'

describe('labels and annotations that both sides may change', () => {
  /** The value of a key; undefined = the object does not have it. */
  type Value = string | undefined
  interface Row {
    readonly name: string
    /** The virtual object's value at the last write, and now; then those of the host object. */
    readonly virtual: readonly [was: Value, is: Value]
    readonly host: readonly [was: Value, is: Value]
    readonly isRestarted?: true
    readonly isPatched?: true
    /** Of both objects after the exchange. */
    readonly becomes: readonly [virtual: Value, host: Value]
  }
  const no = undefined
  const both = (value: Value) => [value, value] as const
  const rows: readonly Row[] = [
    { name: 'unchanged', virtual: ['a', 'a'], host: ['a', 'a'], becomes: both('a') },
    { name: 'changed', virtual: ['a', 'b'], host: ['a', 'a'], becomes: both('b') },
    { name: 'changed on the host', virtual: ['a', 'a'], host: ['a', 'c'], becomes: both('c') },
    { name: 'changed on both sides', virtual: ['a', 'b'], host: ['a', 'c'], becomes: both('b') },
    { name: 'changed alike', virtual: ['a', 'b'], host: ['a', 'b'], becomes: both('b') },
    { name: 'emptied on the host', virtual: ['a', 'a'], host: ['a', ''], becomes: both('') },
    { name: 'removed on the host', virtual: ['a', 'a'], host: ['a', no], becomes: both('a') },
    { name: 'removed', virtual: ['a', no], host: ['a', 'a'], becomes: both(no) },
    {
      name: 'removed, changed on the host',
      virtual: ['a', no],
      host: ['a', 'c'],
      becomes: both(no),
    },
    { name: 'removed on both sides', virtual: ['a', no], host: ['a', no], becomes: both(no) },
    { name: 'new', virtual: [no, 'a'], host: [no, no], becomes: both('a') },
    { name: 'new on both sides', virtual: [no, 'a'], host: [no, 'c'], becomes: both('a') },
    { name: 'new, not on the host', virtual: [no, 'a'], host: ['c', 'd'], becomes: both('a') },
    { name: 'of the host only', virtual: [no, no], host: ['c', 'c'], becomes: [no, 'c'] },
    { name: 'of the host, changed', virtual: [no, no], host: ['c', 'd'], becomes: [no, 'd'] },
    { name: 'of the host, removed', virtual: [no, no], host: ['c', no], becomes: both(no) },
    { name: 'patched before', virtual: ['a', 'a'], host: ['p', 'p'], becomes: both('a') },
    { name: 'patched', isPatched: true, virtual: ['a', 'a'], host: ['p', 'c'], becomes: both('a') },
    {
      name: 'changed on the host before a restart',
      isRestarted: true,
      virtual: ['a', 'a'],
      host: ['a', 'c'],
      becomes: both('a'),
    },
    {
      name: 'changed before a restart',
      isRestarted: true,
      virtual: ['a', 'b'],
      host: ['a', 'a'],
      becomes: both('b'),
    },
    {
      name: 'removed before a restart',
      isRestarted: true,
      virtual: ['a', no],
      host: ['a', 'a'],
      becomes: both(no),
    },
    {
      name: 'of the host before a restart',
      isRestarted: true,
      virtual: [no, no],
      host: ['c', 'c'],
      becomes: [no, 'c'],
    },
  ]

  /** `release` has another key on the host in single-namespace mode. */
  const keys = [
    { field: 'labels', place: single, key: 'app', hostKey: 'app' },
    { field: 'labels', place: single, key: 'release', hostKey: hostLabelKey('release', 'vc') },
    { field: 'labels', place: several, key: 'release', hostKey: 'release' },
    { field: 'labels', place: single, key: '__proto__', hostKey: '__proto__' },
    { field: 'annotations', place: single, key: 'release', hostKey: 'release' },
    { field: 'annotations', place: several, key: 'example.org/a', hostKey: 'example.org/a' },
    { field: 'annotations', place: single, key: '__proto__', hostKey: '__proto__' },
  ] as const

  describe.each(keys)('$field: $key, on the host $hostKey', ({ field, place, key, hostKey }) => {
    const withValue = (object: JsonMap, name: string, value: string | undefined): JsonMap =>
      setNestedField(object, ['metadata', field, name], value)

    test.each(rows)('$name (17.3)', (row) => {
      const wasVirtual = withValue(virtualWith({ [field]: { z: '1' } }), key, row.virtual[0])
      const first = { metadata: hostMetadata(exchangeOf({ virtual: wasVirtual, place })) }
      const wasHost = withValue(first, hostKey, row.host[0])
      const virtual = withValue(wasVirtual, key, row.virtual[1])
      const host = withValue(wasHost, hostKey, row.host[1])
      const written = { virtual: metadataOf(wasVirtual), host: metadataOf(wasHost) }
      const exchange = exchangeOf({
        place,
        virtual,
        host,
        written: row.isRestarted === true ? null : written,
        isPatched: (path) =>
          row.isPatched === true && path.join(' ') === `metadata ${field} ${hostKey}`,
      })
      const metadata = hostMetadata(exchange)
      const back = withHostMetadata(exchange)
      expect([
        nestedField(back, ['metadata', field, key]),
        nestedField(metadata, [field, hostKey]),
      ]).toEqual(row.becomes)
      // Nothing else changes.
      expect(withValue(back, key, row.virtual[1])).toEqual(virtual)
      expect(back === virtual).toBe(row.becomes[0] === row.virtual[1])
      expect(Object.getPrototypeOf(nestedField(back, ['metadata', field]))).toBe(Object.prototype)
    })
  })

  test('a key is judged apart from the others, and from its namesake in the other map (17.3)', () => {
    const metadata = { labels: { a: '1', b: '1' }, annotations: { a: '1', b: '1' } }
    const virtual = virtualWith({ ...metadata, labels: { a: '2', b: '1' } })
    const was = hostOf(metadata)
    const host = setNestedField(
      setNestedField(was, ['metadata', 'labels', 'b'], '3'),
      ['metadata', 'annotations', 'a'],
      '3',
    )
    const written = { virtual: metadataOf(virtualWith(metadata)), host: metadataOf(was) }
    const exchange = exchangeOf({ virtual, host, written })
    const back = metadataOf(withHostMetadata(exchange))
    expect(back['labels']).toEqual({ a: '2', b: '3' })
    expect(back['annotations']).toEqual({ a: '3', b: '1' })
    expect(unmarked(hostMetadata(exchange), 'labels')).toEqual({ a: '2', b: '3' })
    expect(unmarked(hostMetadata(exchange), 'annotations')).toEqual({ a: '3', b: '1' })
  })

  test('a value of the host that is not a string is written again, and dropped where the host alone has it (17.3)', () => {
    const virtual = virtualWith({ labels: { a: '1' } })
    const was = hostOf({ labels: { a: '1' } })
    const written = { virtual: metadataOf(virtual), host: metadataOf(was) }
    const host = setNestedField(
      setNestedField(was, ['metadata', 'labels', 'a'], 5),
      ['metadata', 'labels', 'h'],
      null,
    )
    const exchange = exchangeOf({ virtual, host, written })
    expect(unmarked(hostMetadata(exchange), 'labels')).toEqual({ a: '1' })
    expect(withHostMetadata(exchange)).toBe(virtual)
  })

  test('nothing flows back from a host object that does not exist (17.3)', () => {
    const virtual = virtualWith({ labels: { a: '1' } })
    const written = { virtual: metadataOf(virtual), host: metadataOf(hostOf({})) }
    expect(withHostMetadata(exchangeOf({ virtual, written }))).toBe(virtual)
  })
})

// Random changes on both sides, with a fixed seed.
describe('an exchange settles', () => {
  const KEYS = [
    'a',
    'release',
    `${PREFIX}managed-by`,
    '__proto__',
    `${PREFIX}import`,
    hostLabelKey('release', 'vc'),
  ]

  function randomFrom(seed: number): (below: number) => number {
    let state = seed
    return (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
  }

  function changed(object: JsonMap, random: (below: number) => number): JsonMap {
    const field = FIELDS[random(2)] ?? 'labels'
    const key = KEYS[random(KEYS.length)] ?? 'a'
    return setNestedField(object, ['metadata', field, key], ['1', '2', undefined][random(3)])
  }

  test.each([
    { name: 'single-namespace mode', place: single },
    { name: 'multi-namespace mode', place: several },
  ])(
    'in $name: after both writes a second one changes nothing, nor does one after a restart (17.3, 17.4)',
    ({ place }) => {
      const random = randomFrom(17)
      let parts = exchangeOf({ place, owner })
      let flowedBack = 0
      for (let round = 0; round < 500; round += 1) {
        const virtual = withHostMetadata(parts)
        const host: JsonMap = { metadata: hostMetadata(parts) }
        if (virtual !== parts.virtual) flowedBack += 1
        const written = { virtual: metadataOf(virtual), host: metadataOf(host) }
        for (const second of [written, null]) {
          const again = { ...parts, virtual, host, written: second }
          expect(withHostMetadata(again)).toBe(virtual)
          expect(hostMetadata(again)).toEqual(metadataOf(host))
        }
        expect(ownerOf(host, 'Endpoints', place)?.name).toBe('web')
        parts = {
          ...parts,
          written: random(10) === 0 ? null : written,
          virtual: random(2) === 0 ? changed(virtual, random) : virtual,
          host: random(20) === 0 ? null : random(2) === 0 ? changed(host, random) : host,
        }
      }
      expect(flowedBack).toBeGreaterThan(5)
    },
  )

  test('either object may be written first (17.3)', () => {
    const was = virtualWith({ labels: { release: '1', b: '1' } })
    const wasHost = hostOf({ labels: { release: '1', b: '1' } })
    const exchange = exchangeOf({
      virtual: setNestedField(was, ['metadata', 'labels', 'b'], '2'),
      host: setNestedField(wasHost, ['metadata', 'labels', hostLabelKey('release', 'vc')], '3'),
      written: { virtual: metadataOf(was), host: metadataOf(wasHost) },
    })
    const virtual = withHostMetadata(exchange)
    const host = { metadata: hostMetadata(exchange) }
    expect(hostMetadata({ ...exchange, virtual })).toEqual(host.metadata)
    expect(withHostMetadata({ ...exchange, host })).toEqual(virtual)
    expect(nestedMap(virtual, ['metadata', 'labels'])).toEqual({ release: '3', b: '2' })
  })
})
