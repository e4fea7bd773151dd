import { describe, expect, test } from 'vitest'
import { setNestedField } from '../../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, mapFromEntries } from '../../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import {
  isSkipped,
  managedKeys,
  markedKind,
  marksOf,
  ownerOf,
} from '../../../../src/sync/objects/host-metadata.ts'

const PREFIX = 'vcluster.platform.sh/'
const single: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
const several: HostPlace = { ...single, namespaces: [['shop', 'our-shop']] }

const virtual = (metadata: JsonMap = {}): JsonMap => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', ...metadata },
})

/** The host object with the marks that the syncer writes. */
function marked(place: HostPlace, name: string, namespace: string): JsonMap {
  const { labels, annotations } = marksOf(virtual(), 'Endpoints', place)
  return { metadata: { name, namespace, labels, annotations } }
}
const onHost = marked(single, 'web-x-shop-x-vc', 'host')
const label = (key: string) => ['metadata', 'labels', PREFIX + key]
const annotation = (key: string) => ['metadata', 'annotations', PREFIX + key]

describe('marks of a host object', () => {
  test('name the virtual object, the host object and the keys of the virtual side (17.2)', () => {
    const object = virtual({
      labels: { tier: 'b', app: 'a' },
      annotations: { note: 'n', 'example.org/a': 'x' },
    })
    expect(marksOf(object, 'Endpoints', single)).toEqual({
      labels: { [`${PREFIX}managed-by`]: 'vc', [`${PREFIX}namespace`]: 'shop' },
      annotations: {
        [`${PREFIX}object-name`]: 'web',
        [`${PREFIX}object-namespace`]: 'shop',
        [`${PREFIX}object-uid`]: 'u1',
        [`${PREFIX}object-kind`]: '/v1, Kind=Endpoints',
        [`${PREFIX}object-host-name`]: 'web-x-shop-x-vc',
        [`${PREFIX}object-host-namespace`]: 'host',
        [`${PREFIX}crossing-rules`]: '2',
        [`${PREFIX}managed-labels`]: 'app\ntier',
        [`${PREFIX}managed-annotations`]: 'example.org/a\nnote',
      },
    })
  })

  test('in multi-namespace mode are the same, with the names there (17.2, 17.5)', () => {
    const { labels, annotations } = marksOf(virtual(), 'Service', several)
    expect(labels).toEqual({ [`${PREFIX}managed-by`]: 'vc', [`${PREFIX}namespace`]: 'shop' })
    expect(annotations).toMatchObject({
      [`${PREFIX}object-name`]: 'web',
      [`${PREFIX}object-kind`]: '/v1, Kind=Service',
      [`${PREFIX}object-host-name`]: 'web',
      [`${PREFIX}object-host-namespace`]: 'our-shop',
    })
  })

  test.each<{ name: string; labels: Json | undefined; keys: readonly string[] }>([
    { name: 'no labels', labels: undefined, keys: [] },
    { name: 'an empty map', labels: {}, keys: [] },
    { name: 'a list', labels: ['a'], keys: [] },
    { name: 'values that are not strings', labels: { a: 1, b: null, c: 'x' }, keys: ['c'] },
    { name: 'an empty value', labels: { a: '' }, keys: ['a'] },
    { name: 'a prototype', labels: mapFromEntries([['__proto__', 'x']]), keys: ['__proto__'] },
  ])('managed keys of $name are $keys (17.2)', ({ labels, keys }) => {
    const metadata = labels === undefined ? {} : { labels, annotations: labels }
    const { annotations } = marksOf(virtual(metadata), 'Endpoints', single)
    for (const field of ['labels', 'annotations'] as const) {
      expect(managedKeys({ annotations }, field)).toEqual(keys)
      expect(Object.hasOwn(annotations, `${PREFIX}managed-${field}`)).toBe(keys.length > 0)
    }
  })
})

describe('the owner of a host object', () => {
  const owner = { name: 'web', namespace: 'shop', uid: 'u1' }

  test.each([
    { name: 'a single namespace', place: single, host: onHost },
    { name: 'several namespaces', place: several, host: marked(several, 'web', 'our-shop') },
  ])('is the virtual object of its marks: $name (17.2)', ({ place, host }) => {
    expect(ownerOf(host, 'Endpoints', place)).toEqual(owner)
  })

  test('an owner needs no labels: the host controller copies the labels of a Service (16.3, 17.2)', () => {
    const host = setNestedField(onHost, ['metadata', 'labels'], undefined)
    expect(ownerOf(host, 'Endpoints', single)).toEqual(owner)
  })

  test('has no uid where the annotation is gone (17.2)', () => {
    const host = setNestedField(onHost, annotation('object-uid'), undefined)
    expect(ownerOf(host, 'Endpoints', single)).toEqual({ ...owner, uid: '' })
  })

  test.each<{ name: string; path: readonly string[]; value: Json | undefined }>([
    { name: 'no metadata', path: ['metadata'], value: undefined },
    { name: 'no annotations', path: ['metadata', 'annotations'], value: undefined },
    { name: 'annotations that are a list', path: ['metadata', 'annotations'], value: ['x'] },
    { name: 'another name', path: ['metadata', 'name'], value: 'copy' },
    { name: 'another namespace', path: ['metadata', 'namespace'], value: 'elsewhere' },
    { name: 'no name', path: ['metadata', 'name'], value: undefined },
    { name: 'another virtual cluster', path: label('managed-by'), value: 'other' },
    { name: 'an empty managed-by', path: label('managed-by'), value: '' },
    { name: 'a managed-by that is not a string', path: label('managed-by'), value: null },
    { name: 'another kind', path: annotation('object-kind'), value: '/v1, Kind=Service' },
    { name: 'a kind without version', path: annotation('object-kind'), value: 'Endpoints' },
    { name: 'no kind', path: annotation('object-kind'), value: undefined },
    { name: 'another virtual name', path: annotation('object-name'), value: 'api' },
    { name: 'no virtual name', path: annotation('object-name'), value: undefined },
    { name: 'another virtual namespace', path: annotation('object-namespace'), value: 'bar' },
    { name: 'no virtual namespace', path: annotation('object-namespace'), value: undefined },
    { name: 'another host name', path: annotation('object-host-name'), value: 'x' },
    { name: 'no host name', path: annotation('object-host-name'), value: undefined },
    { name: 'another host namespace', path: annotation('object-host-namespace'), value: 'x' },
    { name: 'no host namespace', path: annotation('object-host-namespace'), value: undefined },
  ])('no object owns a host object with $name (17.2)', ({ path, value }) => {
    expect(ownerOf(setNestedField(onHost, path, value), 'Endpoints', single)).toBeNull()
  })

  test('no object owns a host object with labels alone (17.2)', () => {
    const host = setNestedField(onHost, ['metadata', 'annotations'], {})
    expect(ownerOf(host, 'Endpoints', single)).toBeNull()
  })

  test.each([
    { name: 'of another virtual cluster', place: { ...single, virtualCluster: 'other' } },
    { name: 'of another host namespace', place: { ...single, hostNamespace: 'other' } },
    { name: 'of the other mode', place: several },
  ])('no object owns a host object $name, even without labels (17.1, 17.2)', ({ place }) => {
    const host = setNestedField(onHost, ['metadata', 'labels'], undefined)
    expect(ownerOf(host, 'Endpoints', place)).toBeNull()
  })

  // The marks name the copy itself, as far as the copier could write them.
  test.each([
    { name: 'another name', host: 'copy', namespace: 'host' },
    { name: 'another namespace', host: 'web-x-shop-x-vc', namespace: 'elsewhere' },
  ])('no object owns a copy under $name whose marks are changed to it (17.2)', (copy) => {
    const changes = [
      [['metadata', 'name'], copy.host],
      [['metadata', 'namespace'], copy.namespace],
      [annotation('object-host-name'), copy.host],
      [annotation('object-host-namespace'), copy.namespace],
    ] as const
    const host = changes.reduce(
      (object, [path, value]) => setNestedField(object, path, value),
      onHost,
    )
    expect(ownerOf(host, 'Endpoints', single)).toBeNull()
  })

  test('tells virtual objects of one host name apart (17.1)', () => {
    const first = { metadata: { name: 'a', namespace: 'b-x-c', uid: 'u1' } }
    const { labels, annotations } = marksOf(first, 'Endpoints', single)
    const host = { metadata: { name: 'a-x-b-x-c-x-vc', namespace: 'host', labels, annotations } }
    expect(ownerOf(host, 'Endpoints', single)).toEqual(first.metadata)
  })

  test.each([
    { name: '', namespace: 'shop' },
    { name: 'web', namespace: '' },
  ])(
    'no object owns a host object whose marks have the name "$name" and the namespace "$namespace" (17.2)',
    (metadata) => {
      const { annotations } = marksOf({ metadata }, 'Endpoints', several)
      const host = {
        metadata: {
          name: annotations[`${PREFIX}object-host-name`] ?? '',
          namespace: annotations[`${PREFIX}object-host-namespace`] ?? '',
          annotations,
        },
      }
      expect(ownerOf(host, 'Endpoints', several)).toBeNull()
    },
  )

  test('a prototype gives no marks (17.2)', () => {
    const host = setNestedField(onHost, ['metadata', 'annotations'], undefined)
    const inherited = Object.create(
      (onHost['metadata'] as JsonMap)['annotations'] as object,
    ) as JsonMap
    const object = setNestedField(host, ['metadata', 'annotations'], inherited)
    expect(ownerOf(object, 'Endpoints', single)).toBeNull()
  })
})

test('a marked kind is of the core group (17.2)', () => {
  expect(markedKind('ConfigMap')).toBe('/v1, Kind=ConfigMap')
})

describe('skip-sync', () => {
  test.each<{ name: string; metadata: JsonMap; isSet: boolean }>([
    { name: 'a label', metadata: { labels: { [`${PREFIX}skip-sync`]: 'true' } }, isSet: true },
    {
      name: 'an annotation',
      metadata: { annotations: { [`${PREFIX}skip-sync`]: 'true' } },
      isSet: true,
    },
    {
      name: 'another value',
      metadata: { labels: { [`${PREFIX}skip-sync`]: 'false' } },
      isSet: false,
    },
    { name: 'no string', metadata: { labels: { [`${PREFIX}skip-sync`]: true } }, isSet: false },
    { name: 'another key', metadata: { labels: { 'skip-sync': 'true' } }, isSet: false },
    { name: 'neither', metadata: {}, isSet: false },
  ])('with $name is $isSet (16.3)', ({ metadata, isSet }) => {
    expect(isSkipped({ metadata })).toBe(isSet)
  })
})
