import { expect, test } from 'vitest'
import {
  dataOfVersion1In,
  dataOfVersion2In,
  lookedUpTokenIn,
  metadataIn,
  renewedTokenIn,
  writtenIn,
} from '../../../../src/domain/store/store-answers.ts'

const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

/** What stands around the data of each answer. */
const AROUND = {
  request_id: '8b9d',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: 'kv',
}

const sent = (status: number, body: unknown) => ({
  status,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})
const around = (data: unknown, more: object = {}) => ({ ...AROUND, ...more, data })

const UNKNOWN = { kind: 'fault', fault: expect.stringContaining('unknown shape') }
const NO_MOUNT = { kind: 'fault', fault: expect.stringContaining('--secret-store-mount') }
const MISSING = { kind: 'missing' }
const NO_ROUTE = { errors: ['no handler for route "x/data/p/a". route entry not found.'] }
const WRONG_ENGINE = around(null, {
  warnings: [
    "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. If using the Vault CLI, use 'vault kv get' for this operation.",
  ],
})

/** Texts that no call takes for an answer. */
const UNREADABLE: readonly (readonly [name: string, body: string | Buffer])[] = [
  ['no text', ''],
  ['HTML', '<html>404</html>'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a map without data', '{}'],
  ['JSON that is cut', '{"data":{"data":{"a":"b"'],
  ['too deep a list', `{"data":${'['.repeat(65)}${']'.repeat(65)}}`],
  [
    'too many names',
    `{"data":{${Array.from({ length: 20_001 }, (_, at) => `"k${at}":0`).join()}}}`,
  ],
  ['too many values', `{"data":[${'0,'.repeat(200_000)}0]}`],
  ['bytes of another encoding', Buffer.from('{"data":{"a":"\xff"}}', 'latin1')],
]

const READERS = {
  metadata: (answer: { status: number; body: Buffer }) => metadataIn(answer, NOW_MS),
  'data of version 2': dataOfVersion2In,
  'data of version 1': dataOfVersion1In,
  'a write': writtenIn,
  'a look-up': lookedUpTokenIn,
  'a renewal': renewedTokenIn,
}

test.each(
  Object.entries(READERS).flatMap(([reader, read]) =>
    UNREADABLE.map(([name, body]) => ({ reader, read, name, body })),
  ),
)('a store that answers $name gives no $reader (36.1)', ({ read, body }) => {
  expect(read({ status: 200, body: Buffer.from(body) })).toMatchObject(UNKNOWN)
})

test.each(UNREADABLE)(
  'a store that answers 404 with %s has no answer about an entry (36.1)',
  (_, body) => {
    const answer = { status: 404, body: Buffer.from(body) }
    expect(metadataIn(answer, NOW_MS)).toMatchObject(UNKNOWN)
    expect(dataOfVersion2In(answer)).toMatchObject(UNKNOWN)
    expect(dataOfVersion1In(answer)).toMatchObject(UNKNOWN)
  },
)

const CREATED = '2025-12-01T00:00:00.123456789Z'

const metadata = (more: object = {}) => ({
  cas_required: false,
  created_time: '2025-12-01T00:00:00.123456789Z',
  current_version: 2,
  custom_metadata: null,
  delete_version_after: '0s',
  max_versions: 0,
  oldest_version: 1,
  updated_time: '2025-12-01T00:00:00.123456789Z',
  versions: { 1: version('', true), 2: version('') },
  ...more,
})
const version = (deletion_time: unknown, destroyed: unknown = false) => ({
  created_time: '2025-12-01T00:00:00.123456789Z',
  deletion_time,
  destroyed,
})
const withVersion = (deletion: unknown, destroyed?: unknown) =>
  metadata({ versions: { 2: version(deletion, destroyed) } })

test.each([
  { name: 'a version', data: metadata(), state: 'live' },
  {
    name: 'a deleted version',
    data: withVersion('2025-12-31T23:59:59.999999999Z'),
    state: 'deleted',
  },
  { name: 'a version deleted now', data: withVersion('2026-01-01T00:00:00Z'), state: 'deleted' },
  { name: 'a version deleted later', data: withVersion('2026-01-01T00:00:00.001Z'), state: 'live' },
  { name: 'a destroyed version', data: withVersion('', true), state: 'destroyed' },
  {
    name: 'a version deleted and destroyed',
    data: withVersion('2025-01-01T00:00:00Z', true),
    state: 'destroyed',
  },
])('the metadata of $name say $state (36.3)', ({ data, state }) => {
  expect(metadataIn(sent(200, around(data)), NOW_MS)).toEqual({
    kind: 'found',
    value: { currentVersion: 2, createdTime: CREATED, state, customMetadata: {} },
  })
})

test('a time that no store gives is none: it would be remembered for each Secret (36.5)', () => {
  const long = { ...version(''), created_time: 'x'.repeat(65) }
  const data = metadata({ versions: { 2: long } })
  expect(metadataIn(sent(200, around(data)), NOW_MS)).toMatchObject({ kind: 'fault' })
})

test('the metadata of an entry without a version, and what others say there, are read (36.3)', () => {
  const data = metadata({
    current_version: 0,
    versions: {},
    custom_metadata: { owner: 'us', ['__proto__']: 'x' },
  })
  expect(metadataIn(sent(200, around(data)), NOW_MS)).toEqual({
    kind: 'found',
    value: {
      currentVersion: 0,
      createdTime: '',
      state: 'none',
      customMetadata: Object.fromEntries([
        ['owner', 'us'],
        ['__proto__', 'x'],
      ]),
    },
  })
})

test.each([
  { name: 'a version that is text', data: metadata({ current_version: '2' }) },
  { name: 'a negative version', data: metadata({ current_version: -1 }) },
  { name: 'a version that is missing', data: metadata({ current_version: 3 }) },
  {
    name: 'a version without its time',
    data: metadata({ versions: { 2: { deletion_time: '', destroyed: false } } }),
  },
  { name: 'no versions', data: metadata({ versions: null }) },
  { name: 'a time of deletion that is none', data: withVersion('soon') },
  { name: 'no time of deletion', data: withVersion(undefined) },
  { name: 'no word whether it is destroyed', data: withVersion('', null) },
  { name: 'custom metadata with a number', data: metadata({ custom_metadata: { a: 1 } }) },
  { name: 'a time to live, as an entry of version 1', data: metadata({ ttl: '0' }) },
])('metadata with $name are none (36.3)', ({ data }) => {
  expect(metadataIn(sent(200, around(data)), NOW_MS)).toMatchObject(UNKNOWN)
})

test('an entry of version 1 passes neither for metadata nor for data of version 2 (36.2)', () => {
  const lease = { lease_duration: 2_764_800 }
  expect(metadataIn(sent(200, around(metadata(), lease)), NOW_MS)).toMatchObject(UNKNOWN)
  const forged = { data: { a: 'b' }, metadata: { version: 1, created_time: CREATED } }
  expect(dataOfVersion2In(sent(200, around(forged)))).toMatchObject({ kind: 'found' })
  expect(dataOfVersion2In(sent(200, around(forged, lease)))).toMatchObject(UNKNOWN)
  for (const name of ['ttl', 'lease'])
    expect(dataOfVersion2In(sent(200, around({ ...forged, [name]: '0' })))).toMatchObject(UNKNOWN)
})

const DELETED = around({ data: null, metadata: { version: 2, ...version('2025-01-01T00:00:00Z') } })

test.each([
  { name: 'no entry', body: { errors: [] }, one: MISSING, two: MISSING, meta: MISSING },
  { name: 'no mount', body: NO_ROUTE, one: NO_MOUNT, two: NO_MOUNT, meta: NO_MOUNT },
  { name: 'a deleted version', body: DELETED, one: UNKNOWN, two: MISSING, meta: UNKNOWN },
  {
    name: 'a path of another engine',
    body: WRONG_ENGINE,
    one: { kind: 'fault', fault: expect.stringContaining('version 2') },
    two: { kind: 'fault' },
    meta: { kind: 'fault' },
  },
  { name: 'another error', body: { errors: ['x'] }, one: UNKNOWN, two: UNKNOWN, meta: UNKNOWN },
  {
    name: 'data after all',
    body: around({ data: { a: 'b' } }),
    one: UNKNOWN,
    two: UNKNOWN,
    meta: UNKNOWN,
  },
  {
    name: 'null without a version',
    body: around({ data: null, metadata: {} }),
    one: UNKNOWN,
    two: UNKNOWN,
    meta: UNKNOWN,
  },
])('a store that answers 404 means: $name (36.3)', ({ body, one, two, meta }) => {
  expect(dataOfVersion1In(sent(404, body))).toMatchObject(one)
  expect(dataOfVersion2In(sent(404, body))).toMatchObject(two)
  expect(metadataIn(sent(404, body), NOW_MS)).toMatchObject(meta)
})

/** An entry with the members of this JSON. */
const entry = (json: string): string =>
  `{"lease_duration":0,"data":{"data":${json},"metadata":{"version":7,"created_time":"${CREATED}"}}}`

test.each([
  {
    name: 'texts',
    json: '{"a":"b","c":"d\\n\\u003cé\\ud83d\\ude00"}',
    content: { a: 'b', c: 'd\n<é😀' },
  },
  { name: 'a text that looks like JSON', json: '{"a":"{ }"}', content: { a: '{ }' } },
  { name: 'an empty text', json: '{"a":""}', content: { a: '' } },
  {
    name: 'numbers with all digits',
    json: '{"a": 12345678901234567890 ,"b":1.10,"c":1e400,"d":-0}',
    content: { a: '12345678901234567890', b: '1.10', c: '1e400', d: '-0' },
  },
  {
    name: 'words',
    json: '{"a":true,"b":false,"c":null}',
    content: { a: 'true', b: 'false', c: 'null' },
  },
  {
    name: 'other JSON, compact',
    json: '{"a": { "x" : [ 1.0 , "a \\" b", {} ],\n\t"y\\u0026": 9007199254740993 } }',
    content: { a: '{"x":[1.0,"a \\" b",{}],"y&":9007199254740993}' },
  },
  { name: 'nothing', json: '{}', content: {} },
  { name: 'the last one of two of a name', json: '{"a":"b","a":"c"}', content: { a: 'c' } },
])('an entry with $name becomes texts (36.3)', ({ json, content }) => {
  const value = { version: 7, createdTime: CREATED, content }
  expect(dataOfVersion2In(sent(200, entry(json)))).toEqual({ kind: 'found', value })
  const first = sent(200, `{"lease_duration":3600,"data":${json}}`)
  const ofFirst = { version: null, createdTime: '', content }
  expect(dataOfVersion1In(first)).toEqual({ kind: 'found', value: ofFirst })
})

test('an entry keeps a name that prototypes have (36.3)', () => {
  const read = dataOfVersion2In(sent(200, entry('{"__proto__":"a","constructor":"b"}')))
  expect(read.kind === 'found' && Object.entries(read.value.content)).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ])
})

test.each([
  { name: 'half of a character', body: entry('{"a":"\\ud83d"}') },
  { name: 'half of a character in a name', body: entry('{"\\ud83d":"a"}') },
  { name: 'a list', body: entry('[]') },
  { name: 'null', body: entry('null') },
  { name: 'version 0', body: entry('{}').replace('"version":7', '"version":0') },
  { name: 'no version', body: entry('{}').replace('"version":7', '"x":7') },
  { name: 'more beside it', body: entry('{},"more":1') },
])('data with $name are none of version 2 (36.3)', ({ body }) => {
  expect(dataOfVersion2In(sent(200, body))).toMatchObject(UNKNOWN)
})

test('an entry has as many values and levels as can be read in one turn (36.1)', () => {
  const deep = (levels: number) => entry(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`)
  const long = (values: number) => entry(`{"a":[${'0,'.repeat(values)}0]}`)
  for (const body of [deep(61), long(199_990)])
    expect(dataOfVersion2In(sent(200, body))).toMatchObject({ kind: 'found' })
  for (const body of [deep(62), long(200_000)])
    expect(dataOfVersion2In(sent(200, body))).toMatchObject(UNKNOWN)
})

test('an entry in another encoding than UTF-8 is refused, as its characters would be replaced (36.3)', () => {
  const body = Buffer.from(entry('{"a":"\xff"}'), 'latin1')
  expect(dataOfVersion2In({ status: 200, body })).toMatchObject(UNKNOWN)
})

test('an entry of version 2 is none of version 1 (36.2)', () => {
  const fault = { kind: 'fault', fault: expect.stringContaining('version 2') }
  expect(dataOfVersion1In(sent(200, entry('{"a":"b"}')))).toMatchObject(fault)
  expect(dataOfVersion1In(sent(200, WRONG_ENGINE))).toMatchObject(UNKNOWN)
  const own = around(
    { data: { a: 'b' }, metadata: { version: 1, created_time: CREATED } },
    { lease_duration: 3600 },
  )
  expect(dataOfVersion1In(sent(200, own))).toMatchObject({ kind: 'found' })
})
