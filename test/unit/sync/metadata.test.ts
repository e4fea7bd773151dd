import { describe, expect, test } from 'vitest'
import { nestedField, nestedMap, setNestedField } from '../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, mapFromEntries } from '../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../src/sync/rules/host-name.ts'
import { hostLabelKey } from '../../../src/sync/rules/labels.ts'
import { type MetadataField, marksOf, ownerOf } from '../../../src/sync/rules/marks.ts'
import {
  type MetadataExchange,
  hostMetadata,
  withHostMetadata,
} from '../../../src/sync/rules/metadata.ts'

const PREFIX = 'vcluster.platform.sh/'
const FIELDS = ['labels', 'annotations'] as const
const single: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
const several: HostPlace = { ...single, namespaces: [['shop', 'our-shop']] }
const owner = { apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'o1' }

const virtualWith = (metadata: JsonMap): JsonMap => ({
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', ...metadata },
  subsets: [],
})

const exchangeOf = (parts: Partial<MetadataExchange>): MetadataExchange => ({
  kind: 'Endpoints',
  place: single,
  virtual: virtualWith({}),
  host: null,
  written: null,
  owner: null,
  isPatched: () => false,
  ...parts,
})

/** A host object as the syncer made it from these labels and annotations. */
const hostOf = (metadata: JsonMap, place: HostPlace = single): JsonMap => ({
  metadata: hostMetadata(exchangeOf({ virtual: virtualWith(metadata), place })),
})
const metadataOf = (object: JsonMap | null): JsonMap => nestedMap(object ?? {}, ['metadata'])

/** The labels or annotations without the syncer's marks. */
function unmarked(metadata: JsonMap, field: MetadataField, place: HostPlace = single): JsonMap {
  const marks = Object.keys(marksOf(virtualWith({ labels: { a: '' } }), 'Endpoints', place)[field])
  const known = new Set([...marks, `${PREFIX}managed-annotations`])
  return mapFromEntries(
    Object.entries(nestedMap(metadata, [field])).filter(([key]) => !known.has(key)),
  )
}

describe('metadata of a new host object', () => {
  test('has names, owner, labels and annotations only (17.4)', () => {
    const virtual = virtualWith({
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.org/hold'],
      ownerReferences: [{ kind: 'Pod', name: 'p', uid: 'p1' }],
      managedFields: [],
      generateName: 'web-',
      selfLink: '/x',
      labels: { app: 'a' },
      annotations: { note: 'n' },
    })
    const marks = marksOf(virtual, 'Endpoints', single)
    expect(hostMetadata(exchangeOf({ virtual, owner }))).toEqual({
      name: 'web-x-shop-x-vc',
      namespace: 'host',
      labels: { app: 'a', ...marks.labels },
      annotations: { note: 'n', ...marks.annotations },
      ownerReferences: [{ ...owner, controller: false }],
    })
  })

  test.each([
    { name: 'without an own Service', place: single, owner: null },
    { name: 'in multi-namespace mode', place: several, owner },
  ])('has no owner $name (17.4, 17.5)', (parts) => {
    expect(Object.hasOwn(hostMetadata(exchangeOf(parts)), 'ownerReferences')).toBe(false)
  })

  test('the owner is no controller and does not hold up its deletion (17.4)', () => {
    const controlling = { ...owner, controller: true, blockOwnerDeletion: true }
    expect(hostMetadata(exchangeOf({ owner: controlling }))['ownerReferences']).toEqual([
      { ...owner, controller: false },
    ])
  })
})

describe('metadata of an existing host object', () => {
  const kept = {
    uid: 'h1',
    resourceVersion: '9',
    creationTimestamp: '2026-01-02T00:00:00Z',
    finalizers: ['example.org/host'],
  }
  const other = { apiVersion: 'v1', kind: 'Service', name: 'other', uid: 'x1' }
  const hostWith = (metadata: JsonMap, place: HostPlace = single): JsonMap => ({
    metadata: { ...metadataOf(hostOf({}, place)), ...metadata },
  })

  test('keeps what the API server and others wrote (17.4)', () => {
    const virtual = virtualWith({ uid: 'u1', resourceVersion: '3', finalizers: ['virtual'] })
    const metadata = hostMetadata(exchangeOf({ virtual, host: hostWith(kept) }))
    expect(metadata).toMatchObject(kept)
    expect(metadata).toMatchObject({ name: 'web-x-shop-x-vc', namespace: 'host' })
  })

  const ours = { ...owner, controller: false }
  test.each<{ name: string; parts: Partial<MetadataExchange>; has: Json; becomes?: Json }>([
    { name: 'none', parts: { owner }, has: [], becomes: [ours] },
    { name: 'another', parts: { owner }, has: [other], becomes: [other, ours] },
    { name: 'ours, changed', parts: { owner }, has: [{ ...owner }, other], becomes: [other, ours] },
    {
      name: 'our Service before',
      parts: { owner },
      has: [{ ...ours, uid: 'o0' }],
      becomes: [ours],
    },
    {
      name: 'a namesake of another kind',
      parts: { owner },
      has: [{ ...other, kind: 'Secret', name: 'vc' }],
      becomes: [{ ...other, kind: 'Secret', name: 'vc' }, ours],
    },
    {
      name: 'a namesake of another group',
      parts: { owner },
      has: [{ ...owner, apiVersion: 'x/v1' }],
      becomes: [{ ...owner, apiVersion: 'x/v1' }, ours],
    },
    { name: 'another, without ours', parts: { owner: null }, has: [other], becomes: [other] },
    { name: 'an empty list, without ours', parts: { owner: null }, has: [] },
    { name: 'no list', parts: { owner: null }, has: 'x' },
    {
      name: 'another in multi-namespace mode',
      parts: { owner, place: several },
      has: [other],
      becomes: [other],
    },
  ])('owners: $name (17.4, 17.5)', ({ parts, has, becomes }) => {
    const host = hostWith({ ownerReferences: has }, parts.place)
    expect(hostMetadata(exchangeOf({ ...parts, host }))['ownerReferences']).toEqual(becomes)
  })
})

describe('keys on the host', () => {
  const translated = (key: string): string => hostLabelKey(key, 'vc')
  test.each<{ name: string; place: HostPlace; labels: JsonMap; host: JsonMap }>([
    { name: 'a plain one', place: single, labels: { app: 'a' }, host: { app: 'a' } },
    {
      name: 'release',
      place: single,
      labels: { release: 'r' },
      host: { [translated('release')]: 'r' },
    },
    ...['managed-by', 'namespace', 'controlled-by'].map((key) => ({
      name: key,
      place: single,
      labels: { [PREFIX + key]: 'forged' },
      host: { [translated(PREFIX + key)]: 'forged' },
    })),
    {
      name: 'one that a translated label has',
      place: single,
      labels: { [translated('release')]: 'forged', release: 'r' },
      host: { [translated('release')]: 'r' },
    },
    {
      name: 'one that a translated label would have',
      place: single,
      labels: { [translated('release')]: 'forged' },
      host: {},
    },
    {
      name: 'one that is translated for a virtual cluster inside',
      place: single,
      labels: { [hostLabelKey('release', 'inner')]: 'r' },
      host: { [hostLabelKey('release', 'inner')]: 'r' },
    },
    {
      name: 'another of our prefix',
      place: single,
      labels: { [`${PREFIX}x`]: 'x' },
      host: { [`${PREFIX}x`]: 'x' },
    },
    {
      name: 'release, untranslated',
      place: several,
      labels: { release: 'r' },
      host: { release: 'r' },
    },
    {
      name: 'a mark, untranslated',
      place: several,
      labels: { [`${PREFIX}managed-by`]: 'other' },
      host: {},
    },
    {
      name: 'controlled-by, untranslated',
      place: several,
      labels: { [`${PREFIX}controlled-by`]: 'x' },
      host: {},
    },
    {
      name: 'no string',
      place: single,
      labels: { a: 1, b: null, c: ['x'], d: '' },
      host: { d: '' },
    },
    {
      name: 'a prototype',
      place: single,
      labels: mapFromEntries([
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ]),
      host: mapFromEntries([
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ]),
    },
  ])('of labels: $name (17.3, 17.5)', ({ place, labels, host }) => {
    const virtual = virtualWith({ labels })
    const metadata = hostMetadata(exchangeOf({ virtual, place }))
    expect(unmarked(metadata, 'labels')).toEqual(host)
    expect(metadata['labels']).toMatchObject(marksOf(virtual, 'Endpoints', place).labels)
  })

  test.each([
    'control-plane.alpha.kubernetes.io/leader',
    'kubectl.kubernetes.io/last-applied-configuration',
    `${PREFIX}import`,
    `${PREFIX}imported-from`,
    `${PREFIX}patches-not-stable`,
    `${PREFIX}skip-sync`,
    `${PREFIX}managed-by`,
    `${PREFIX}namespace`,
    `${PREFIX}object-name`,
    `${PREFIX}object-namespace`,
    `${PREFIX}object-uid`,
    `${PREFIX}object-kind`,
    `${PREFIX}object-host-name`,
    `${PREFIX}object-host-namespace`,
    `${PREFIX}managed-annotations`,
    `${PREFIX}managed-labels`,
  ])('%s crosses in neither direction (17.3)', (key) => {
    for (const place of [single, several]) {
      // Two of the marks are labels that users may have: they get another key.
      const isTranslated = hostLabelKey(key, 'vc') !== key
      const forged = { [key]: 'forged' }
      const fields = { annotations: forged, labels: isTranslated ? {} : forged }
      const virtual = virtualWith(fields)
      const fresh = hostMetadata(exchangeOf({ virtual, place }))
      const marks = marksOf(virtual, 'Endpoints', place)
      expect(fresh).toMatchObject({ labels: marks.labels, annotations: marks.annotations })
      expect(Object.values(nestedMap(fresh, ['labels']))).not.toContain('forged')
      expect(Object.values(nestedMap(fresh, ['annotations']))).not.toContain('forged')
      // The host changes its own, and the virtual object has one of the same name.
      const written = { virtual: metadataOf(virtual), host: fresh }
      const host = FIELDS.reduce(
        (object, field) => setNestedField(object, ['metadata', field, key], 'of the host'),
        { metadata: fresh } as JsonMap,
      )
      expect(withHostMetadata(exchangeOf({ virtual, host, written, place }))).toBe(virtual)
    }
  })

  test.each([
    'control-plane.alpha.kubernetes.io/leader',
    'kubectl.kubernetes.io/last-applied-configuration',
    `${PREFIX}import`,
    `${PREFIX}patches-not-stable`,
    `${PREFIX}skip-sync`,
  ])('%s of the host stays, whatever the virtual object has (17.3)', (key) => {
    const virtual = virtualWith({ labels: { [key]: 'v' }, annotations: { [key]: 'v' } })
    const host = FIELDS.reduce(
      (object, field) => setNestedField(object, ['metadata', field, key], 'h'),
      hostOf({ labels: { [key]: 'v' }, annotations: { [key]: 'v' } }),
    )
    for (const now of [virtual, virtualWith({})]) {
      const metadata = hostMetadata(exchangeOf({ virtual: now, host }))
      for (const field of FIELDS) expect(nestedMap(metadata, [field])[key]).toBe('h')
    }
  })
})

describe('labels and annotations that both sides may change', () => {
  /** Values of one key; undefined = the object does not have it. */
  interface Values {
    readonly wasVirtual?: string
    readonly wasHost?: string
    readonly virtual?: string
    readonly host?: string
  }
  interface Row extends Values {
    readonly name: string
    readonly isRestarted?: boolean
    readonly isPatched?: boolean
    /** The value of the host object and of the virtual object after the exchange. */
    readonly becomes: readonly [host: string | undefined, virtual: string | undefined]
  }
  const rows: readonly Row[] = [
    {
      name: 'nothing changed',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'a',
      host: 'a',
      becomes: ['a', 'a'],
    },
    {
      name: 'the virtual one',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'b',
      host: 'a',
      becomes: ['b', 'b'],
    },
    {
      name: 'the one of the host',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'a',
      host: 'c',
      becomes: ['c', 'c'],
    },
    { name: 'both', wasVirtual: 'a', wasHost: 'a', virtual: 'b', host: 'c', becomes: ['b', 'b'] },
    {
      name: 'both alike',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'b',
      host: 'b',
      becomes: ['b', 'b'],
    },
    {
      name: 'to an empty value',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'a',
      host: '',
      becomes: ['', ''],
    },
    {
      name: 'removed on the host',
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'a',
      becomes: ['a', 'a'],
    },
    {
      name: 'removed from the virtual one',
      wasVirtual: 'a',
      wasHost: 'a',
      host: 'a',
      becomes: [undefined, undefined],
    },
    {
      name: 'removed there, changed here',
      wasVirtual: 'a',
      wasHost: 'a',
      host: 'c',
      becomes: [undefined, undefined],
    },
    { name: 'removed from both', wasVirtual: 'a', wasHost: 'a', becomes: [undefined, undefined] },
    { name: 'new in the virtual one', virtual: 'a', becomes: ['a', 'a'] },
    { name: 'new in both', virtual: 'a', host: 'c', becomes: ['a', 'a'] },
    {
      name: 'new in the virtual one, long on the host',
      wasHost: 'c',
      virtual: 'a',
      host: 'd',
      becomes: ['a', 'a'],
    },
    { name: 'of the host only', wasHost: 'c', host: 'c', becomes: ['c', undefined] },
    { name: 'of the host only, changed', wasHost: 'c', host: 'd', becomes: ['d', undefined] },
    { name: 'of the host only, removed', wasHost: 'c', becomes: [undefined, undefined] },
    // Patches gave the host another value.
    {
      name: 'patched before',
      wasVirtual: 'a',
      wasHost: 'p',
      virtual: 'a',
      host: 'p',
      becomes: ['a', 'a'],
    },
    {
      name: 'patched',
      isPatched: true,
      wasVirtual: 'a',
      wasHost: 'p',
      virtual: 'a',
      host: 'c',
      becomes: ['a', 'a'],
    },
    {
      name: 'restart, changed on the host',
      isRestarted: true,
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'a',
      host: 'c',
      becomes: ['a', 'a'],
    },
    {
      name: 'restart, changed in the virtual one',
      isRestarted: true,
      wasVirtual: 'a',
      wasHost: 'a',
      virtual: 'b',
      host: 'a',
      becomes: ['b', 'b'],
    },
    {
      name: 'restart, removed from the virtual one',
      isRestarted: true,
      wasVirtual: 'a',
      wasHost: 'a',
      host: 'a',
      becomes: [undefined, undefined],
    },
    {
      name: 'restart, of the host only',
      isRestarted: true,
      wasHost: 'c',
      host: 'c',
      becomes: ['c', undefined],
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
      const wasVirtual = withValue(virtualWith({ [field]: { z: '1' } }), key, row.wasVirtual)
      const first = { metadata: hostMetadata(exchangeOf({ virtual: wasVirtual, place })) }
      const wasHost = withValue(first, hostKey, row.wasHost)
      const virtual = withValue(wasVirtual, key, row.virtual)
      const host = withValue(wasHost, hostKey, row.host)
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
        nestedField(metadata, [field, hostKey]),
        nestedField(back, ['metadata', field, key]),
      ]).toEqual(row.becomes)
      // Nothing else changes.
      expect(withValue(back, key, row.virtual)).toEqual(virtual)
      expect(back === virtual).toBe(row.becomes[1] === row.virtual)
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

  test('a value of the host that is no string is written anew, and dropped where the host alone has it (17.3)', () => {
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

describe('marks of an existing host object', () => {
  test('are written anew where somebody changed or removed them (17.2)', () => {
    const virtual = virtualWith({ labels: { a: '1' } })
    const marks = marksOf(virtual, 'Endpoints', single)
    for (const field of FIELDS)
      for (const key of Object.keys(marks[field]))
        for (const value of ['forged', undefined]) {
          const host = setNestedField(
            hostOf({ labels: { a: '1' } }),
            ['metadata', field, key],
            value,
          )
          const metadata = hostMetadata(exchangeOf({ virtual, host }))
          expect(metadata[field]).toMatchObject(marks[field])
          expect(ownerOf({ metadata }, 'Endpoints', single)?.uid).toBe('u1')
        }
  })

  test('go where they say nothing any more (17.2)', () => {
    const host = hostOf({ labels: { a: '1' }, annotations: { a: '1' } })
    const metadata = hostMetadata(exchangeOf({ host }))
    expect(metadata).toEqual(metadataOf(hostOf({})))
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
      for (let round = 0; round < 2000; round += 1) {
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
      expect(flowedBack).toBeGreaterThan(20)
    },
  )

  test('whichever object is written first (17.3)', () => {
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
