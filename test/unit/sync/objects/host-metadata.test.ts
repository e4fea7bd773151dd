import { describe, expect, test } from 'vitest'
import { nestedMap, setNestedField } from '../../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, mapFromEntries } from '../../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import { hostLabelKey } from '../../../../src/sync/objects/selectors.ts'
import {
  marksOf,
  ownerOf,
  type MetadataExchange,
  hostMetadata,
} from '../../../../src/sync/objects/host-metadata.ts'
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

  test('the owner is not a controller and does not hold up its deletion (17.4)', () => {
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
    { name: 'an entry that is none', parts: { owner }, has: [null, 'x'], becomes: [ours] },
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
  ])('are translated as labels: $name (17.3, 17.5)', ({ place, labels, host }) => {
    const virtual = virtualWith({ labels })
    const metadata = hostMetadata(exchangeOf({ virtual, place }))
    expect(unmarked(metadata, 'labels')).toEqual(host)
    expect(metadata['labels']).toMatchObject(marksOf(virtual, 'Endpoints', place).labels)
  })

  test.each([
    { name: 'an annotation', place: single, field: 'annotations' },
    { name: 'a label in multi-namespace mode', place: several, field: 'labels' },
  ])('$name with the key of a translated label crosses (17.3, 17.5)', ({ place, field }) => {
    const key = hostLabelKey('release', 'vc')
    const virtual = virtualWith({ [field]: { [key]: 'x' } })
    expect(hostMetadata(exchangeOf({ virtual, place }))[field]).toMatchObject({ [key]: 'x' })
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

describe('marks of an existing host object', () => {
  test('are written again where a user changed or removed them (17.2)', () => {
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
