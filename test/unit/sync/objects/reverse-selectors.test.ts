import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import { virtualSelector } from '../../../../src/sync/objects/selectors.ts'
import { type ReferenceCase, patchedAt } from '../patched-reference.ts'

const P = 'vcluster.platform.sh'
const marks = { [`${P}/managed-by`]: 'vc', [`${P}/namespace`]: 'shop' }
/** The first digits of sha256sum of `release`. */
const HOST_RELEASE = `${P}/label-vc-x-a4d451ec23`

interface SelectorRow {
  readonly name: string
  readonly host: Json
  /** undefined = `hostSelector` makes it of none. */
  readonly virtual: Json | undefined
}

const SELECTORS: readonly SelectorRow[] = [
  { name: 'labels', host: { app: 'x', ...marks }, virtual: { app: 'x' } },
  { name: 'an empty map', host: {}, virtual: {} },
  { name: 'no map', host: 'x', virtual: 'x' },
  {
    name: 'a key that has another name on the host',
    host: { [HOST_RELEASE]: 'x', ...marks },
    virtual: { release: 'x' },
  },
  {
    name: 'a key that no label has on the host',
    host: { release: 'x', ...marks },
    virtual: undefined,
  },
  { name: 'our labels alone', host: marks, virtual: undefined },
  { name: 'no label of this virtual cluster', host: { app: 'x' }, virtual: undefined },
  {
    name: 'the labels of another virtual cluster',
    host: { app: 'x', ...marks, [`${P}/managed-by`]: 'other' },
    virtual: undefined,
  },
  {
    name: 'the labels of another virtual namespace',
    host: { app: 'x', ...marks, [`${P}/namespace`]: 'other' },
    virtual: undefined,
  },
  {
    name: 'a LabelSelector',
    host: {
      matchLabels: { app: 'x', [HOST_RELEASE]: 'y', ...marks },
      matchExpressions: [{ key: HOST_RELEASE, operator: 'Exists' }, { key: 'tier' }, 1, { key: 2 }],
    },
    virtual: {
      matchLabels: { app: 'x', release: 'y' },
      matchExpressions: [{ key: 'release', operator: 'Exists' }, { key: 'tier' }, 1, { key: 2 }],
    },
  },
  {
    name: 'a LabelSelector that selects all',
    host: { matchLabels: marks },
    virtual: { matchLabels: {} },
  },
  {
    name: 'a LabelSelector without our labels',
    host: { matchLabels: { app: 'x' } },
    virtual: undefined,
  },
  {
    name: 'a requirement with a key that no label has on the host',
    host: { matchLabels: marks, matchExpressions: [{ key: 'release', operator: 'Exists' }] },
    virtual: undefined,
  },
]

describe('selectors from host to virtual', () => {
  const place = { virtualCluster: 'vc', namespace: 'shop' }

  test.each(SELECTORS)('the selector of $name (19.5)', ({ host, virtual }) => {
    expect(virtualSelector(host, place)).toEqual(virtual)
  })

  const rows: readonly (ReferenceCase & { readonly name: string; readonly result: Json })[] = [
    {
      name: 'a known key',
      host: { app: 'y', ...marks },
      own: { app: 'x' },
      result: { app: 'y' },
    },
    {
      name: 'the own one, where it is unknown',
      host: { app: 'y' },
      own: { app: 'x' },
      result: { app: 'x' },
    },
    { name: 'as it is, unknown and without an own one', host: { app: 'y' }, result: { app: 'y' } },
    {
      name: 'the own one, where it means the same',
      host: { matchLabels: marks, matchExpressions: [{ key: 'app' }] },
      own: { matchExpressions: [{ key: 'app' }] },
      result: { matchExpressions: [{ key: 'app' }] },
    },
    {
      name: 'as it is in multi-namespace mode',
      host: { app: 'y', ...marks },
      own: { app: 'x' },
      isMulti: true,
      result: { app: 'y', ...marks },
    },
  ]
  test.each(rows)('a labels patch gives $name (19.5)', async ({ result, ...given }) => {
    expect(await patchedAt({ labels: {} }, 'reverse', given)).toEqual(result)
  })
})
