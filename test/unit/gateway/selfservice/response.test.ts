import { describe, expect, test } from 'vitest'
import { formOf, includeObjectOf, shaped } from '../../../../src/gateway/selfservice/response.ts'
import { key } from './key-objects.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1'
const OLD_TABLE = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'

const json = { encoding: 'json', shape: { as: 'object' } } as const
const yaml = { encoding: 'yaml', shape: { as: 'object' } } as const
const tableOf = (version: string) => ({ encoding: 'json', shape: { as: 'Table', version } })
const metadataOf = (version: string) => ({
  encoding: 'json',
  shape: { as: 'PartialObjectMetadata', version },
})

test.each([
  { accept: undefined, content: 'one', form: json },
  { accept: '', content: 'one', form: json },
  { accept: '*/*', content: 'list', form: json },
  { accept: 'application/*', content: 'watch', form: json },
  { accept: 'application/json', content: 'one', form: json },
  { accept: 'Application/JSON; charset=utf-8', content: 'one', form: json },
  { accept: 'application/json;stream=watch', content: 'watch', form: json },
  { accept: 'application/yaml', content: 'list', form: yaml },
  { accept: 'application/yaml', content: 'watch', form: null },
  { accept: 'application/yaml, application/json', content: 'watch', form: json },
  { accept: 'application/yaml;q=0.5, application/json', content: 'one', form: json },
  { accept: 'application/yaml, application/json;q=0.9', content: 'one', form: yaml },
  { accept: 'application/json;q=0, application/yaml', content: 'one', form: yaml },
  { accept: 'application/json;q=x', content: 'one', form: null },
  { accept: `${TABLE},${OLD_TABLE},application/json`, content: 'list', form: tableOf('v1') },
  { accept: OLD_TABLE, content: 'watch', form: tableOf('v1beta1') },
  { accept: 'application/json;as=Table;v=v2;g=meta.k8s.io', content: 'list', form: null },
  { accept: 'application/json;as=Table;v=v1;g=other', content: 'list', form: null },
  { accept: 'application/json;as=Secret;v=v1;g=meta.k8s.io', content: 'one', form: null },
  { accept: METADATA, content: 'one', form: metadataOf('v1') },
  { accept: METADATA, content: 'watch', form: metadataOf('v1') },
  { accept: METADATA, content: 'list', form: null },
  { accept: METADATA_LIST, content: 'list', form: metadataOf('v1beta1') },
  { accept: METADATA_LIST, content: 'one', form: null },
  { accept: `${PROTOBUF},application/json`, content: 'list', form: json },
  { accept: PROTOBUF, content: 'list', form: null },
  { accept: 'application/cbor', content: 'one', form: null },
  { accept: 'text/html', content: 'one', form: null },
] as const)(
  'Accept $accept for $content selects its form (9.4, 12.4)',
  ({ accept, content, form }) => {
    expect(formOf(accept, content)).toEqual(form)
  },
)

test.each([
  { value: null, include: 'Metadata' },
  { value: '', include: 'Metadata' },
  { value: 'None', include: 'None' },
  { value: 'Object', include: 'Object' },
  { value: 'object', include: null },
])('includeObject=$value is read as $include', ({ value, include }) => {
  expect(includeObjectOf(value)).toBe(include)
})

describe('the shape of an answer', () => {
  const one = key({ spec: { ttl: 5 } })
  const alone = {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: one['metadata'],
  }
  const table = { kind: 'Table', rows: [{ cells: ['ci'], object: one }] }
  const inTable = (object: unknown) => ({ kind: 'Table', rows: [{ cells: ['ci'], object }] })
  const asTable = { as: 'Table', version: 'v1' } as const
  const asMetadata = { as: 'PartialObjectMetadata', version: 'v1' } as const

  test('is a Table with as much of each object as is requested', () => {
    expect(shaped(table, asTable, 'Object')).toEqual(table)
    expect(shaped(table, asTable, 'Metadata')).toEqual(inTable(alone))
    expect(shaped(table, asTable, 'None')).toEqual(inTable(null))
  })

  test('is only metadata, of one or of many', () => {
    expect(shaped(one, asMetadata, 'Metadata')).toEqual(alone)
    const metadata = { resourceVersion: '7', continue: 'x' }
    const list = { kind: 'OwnedAccessKeyList', metadata, items: [one, one] }
    expect(shaped(list, asMetadata, 'Metadata')).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      items: [alone, alone],
    })
  })

  test('is always the same for a failure', () => {
    const status = { kind: 'Status', code: 403 }
    for (const shape of [asTable, asMetadata, { as: 'object' } as const])
      expect(shaped(status, shape, 'None')).toEqual(status)
  })
})
