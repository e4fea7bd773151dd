import { describe, expect, test } from 'vitest'
import { setNestedField } from '../../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import {
  hostNamespaceOf,
  namespaceMark,
  namespaceMarks,
  withNamespaceMarks,
} from '../../../../src/sync/namespaces/marks.ts'
import { SEVERAL, SINGLE } from '../translation.ts'

const PREFIX = 'vcluster.platform.sh/'
const place: HostPlace = { ...SEVERAL, namespaces: [] }
const shop = { name: 'shop', uid: 'n1' }
const marks = namespaceMarks(shop, true, place)
const marked: JsonMap = { name: 'vc-x-shop', ...marks }
const mark = (key: string) => ['annotations', PREFIX + key]

describe('marks of a host namespace', () => {
  test('name the virtual namespace, the host namespace, its syncer, and who made it (17.5)', () => {
    expect(marks).toEqual({
      labels: {
        [`${PREFIX}managed-by`]: 'vc',
        [`${PREFIX}namespace`]: 'shop',
        [`${PREFIX}made-by-syncer`]: 'host',
      },
      annotations: {
        [`${PREFIX}object-name`]: 'shop',
        [`${PREFIX}object-uid`]: 'n1',
        [`${PREFIX}object-kind`]: '/v1, Kind=Namespace',
        [`${PREFIX}object-host-name`]: 'vc-x-shop',
        [`${PREFIX}syncer-namespace`]: 'host',
      },
    })
  })

  test('do not say that the syncer made it where it did not (17.5)', () => {
    const { labels } = namespaceMarks(shop, false, place)
    expect(Object.keys(labels)).not.toContain(`${PREFIX}made-by-syncer`)
    expect(namespaceMark({ ...marked, labels }, place)).toMatchObject({ isMade: false })
  })

  test('do not say so where another syncer made it (17.5)', () => {
    const made = setNestedField(marked, ['labels', `${PREFIX}made-by-syncer`], 'other-host')
    expect(namespaceMark(made, place)).toMatchObject({ kind: 'ours', isMade: false })
  })

  test('are read back (17.5)', () => {
    expect(namespaceMark(marked, place)).toEqual({ kind: 'ours', virtual: shop, isMade: true })
  })

  test('stay ours when the mapping has changed (17.5)', () => {
    const elsewhere: HostPlace = { ...place, namespaces: [['shop', 'other']] }
    expect(namespaceMark(marked, elsewhere)).toMatchObject({ kind: 'ours', virtual: shop })
  })

  test.each<{ name: string; path: readonly string[]; value: Json | undefined }>([
    { name: 'another virtual cluster', path: ['labels', `${PREFIX}managed-by`], value: 'vc2' },
    { name: 'no virtual cluster', path: ['labels', `${PREFIX}managed-by`], value: undefined },
    {
      name: 'a virtual cluster of the same name elsewhere',
      path: mark('syncer-namespace'),
      value: 'other-host',
    },
    { name: 'no syncer', path: mark('syncer-namespace'), value: undefined },
    { name: 'another host namespace', path: mark('object-host-name'), value: 'vc-x-other' },
    { name: 'another kind', path: mark('object-kind'), value: '/v1, Kind=Service' },
    { name: 'no virtual namespace', path: mark('object-name'), value: undefined },
    { name: 'a value that is not a string', path: mark('object-name'), value: 7 },
    { name: 'the copy of another one', path: ['name'], value: 'vc-x-copy' },
  ])('that name $name are foreign (17.5)', ({ path, value }) => {
    expect(namespaceMark(setNestedField(marked, path, value), place)).toEqual({ kind: 'foreign' })
  })

  test.each<{ name: string; metadata: JsonMap }>([
    { name: 'nothing', metadata: { name: 'x' } },
    { name: 'labels of others', metadata: { name: 'x', labels: { team: 'a' } } },
  ])('are none with $name (17.5)', ({ metadata }) => {
    expect(namespaceMark(metadata, place)).toEqual({ kind: 'none' })
  })

  test('leave what others have set, when they come and when they go (17.5)', () => {
    const others = { labels: { team: 'a' }, annotations: { note: 'n' } }
    const both = withNamespaceMarks({ name: 'vc-x-shop', ...others }, marks)
    expect(both.labels).toEqual({ ...others.labels, ...marks.labels })
    expect(both.annotations).toEqual({ ...others.annotations, ...marks.annotations })
    expect(withNamespaceMarks({ name: 'vc-x-shop', ...both }, null)).toEqual(others)
  })

  test('change from made to not made without a rest (17.5)', () => {
    const { labels } = withNamespaceMarks(marked, namespaceMarks(shop, false, place))
    expect(Object.keys(labels)).not.toContain(`${PREFIX}made-by-syncer`)
  })
})

test.each([
  { name: 'one of all', place: SINGLE, namespace: 'shop', host: 'host' },
  { name: 'by name', place: SEVERAL, namespace: 'shop', host: 'host-shop' },
  { name: 'made', place: SEVERAL, namespace: 'cart', host: 'vc-x-cart' },
])('the host namespace is $name: $host (17.5)', (row) => {
  expect(hostNamespaceOf(row.namespace, row.place)).toBe(row.host)
})
