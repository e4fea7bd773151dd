import { describe, expect, test } from 'vitest'
import { createdName, parsedBody } from '../../../../../src/domain/audit/bodies/parsed-body.ts'
import { parsePlainYaml } from '../../../../../src/runtime/yaml.ts'
import { generateKey } from '../../../../../src/issuance/new-object.ts'
import { recordedJson, recordedOf } from './recorded.ts'

const LONGEST_YAML = 16_384
const MOST_LEVELS = 1000

const MOST_VALUES = 200_000

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** A list with as many commas and brackets. */
const dense = (values: number): string => `[${'1,'.repeat(values - 1)}1]`

const MOST_NAMES = 20_000

/** An object with as many names. */
const named = (names: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: names }, (_, at) => [`n${at}`, 1])))

describe('what can be read', () => {
  test.each([
    { name: 'JSON', type: 'application/json', text: '{ "a" :\n1.0 }', json: '{"a":1.0}' },
    {
      name: 'JSON with a parameter',
      type: 'Application/JSON; charset=utf-8',
      text: '1',
      json: '1',
    },
    { name: 'a body without a type', type: undefined, text: '{"a":1}', json: '{"a":1}' },
    {
      name: 'a merge patch',
      type: 'application/merge-patch+json',
      text: '{"a":1}',
      json: '{"a":1}',
    },
    { name: 'null', type: 'application/json', text: 'null', json: 'null' },
    {
      name: 'a name twice, of which the last counts as in Go',
      type: 'application/json',
      text: '{"a":{"b":1},"c":2,"a":{"d":1e400}}',
      json: '{"a":{"d":1e400},"c":2}',
    },
    {
      name: '__proto__, which changes no prototype',
      type: 'application/json',
      text: '{"__proto__":{"a":1.0},"b":{"__proto__":null}}',
      json: '{"__proto__":{"a":1.0},"b":{"__proto__":null}}',
    },
    {
      name: 'YAML',
      type: 'application/yaml',
      text: 'a: yes\nb:\n- 0x10\n- "1.0"\n',
      json: '{"a":true,"b":[16,"1.0"]}',
    },
    {
      name: 'an apply of JSON',
      type: 'application/apply-patch+yaml',
      text: ' {"a":9007199254740993}',
      json: '{"a":9007199254740993}',
    },
    {
      name: 'an apply of YAML',
      type: 'application/apply-patch+yaml',
      text: '{a: b}',
      json: '{"a":"b"}',
    },
  ])('$name is recorded as $json (21.4)', ({ type, text, json }) => {
    expect(recordedJson(text, { contentType: type })).toBe(json)
  })

  test('the longest YAML is read, and JSON that is sent as YAML may be longer (21.4)', () => {
    const yaml = { contentType: 'application/apply-patch+yaml' }
    const long = 'a'.repeat(LONGEST_YAML)
    expect(recordedJson(`b: ${long.slice(3)}`, yaml)).toBe(`{"b":"${long.slice(3)}"}`)
    expect(recordedJson(`{"b":"${long}"}`, yaml)).toBe(`{"b":"${long}"}`)
  })

  test('there is no record of a body that has no bytes (21.4)', () => {
    expect(recordedOf('', {})).toBeNull()
  })
})

describe('what is left out', () => {
  test.each([
    { type: 'application/vnd.kubernetes.protobuf', text: 'k8s\0', omitted: 'protobuf' },
    { type: 'application/cbor', text: '\xa0', omitted: 'protobuf' },
    { type: 'application/x-www-form-urlencoded', text: '{"a":1}', omitted: 'protobuf' },
    { type: 'text/plain', text: '{"a":1}', omitted: 'protobuf' },
    { type: 'application/json', text: '{"a":', omitted: 'malformed' },
    { type: 'application/json', text: '\ufeff{}', omitted: 'malformed' },
    { type: 'application/json', text: "{'a':1}", omitted: 'malformed' },
    { type: 'application/json', text: '{"a":1}{"a":2}', omitted: 'malformed' },
    { type: 'application/yaml', text: 'a: [', omitted: 'malformed' },
    { type: 'application/yaml', text: 'a: &x 1\nb: *x', omitted: 'malformed' },
    { type: 'application/yaml', text: nested(MOST_LEVELS + 1), omitted: 'depth' },
    { type: 'application/json', text: nested(MOST_LEVELS + 1), omitted: 'depth' },
    { type: 'application/json', text: dense(MOST_VALUES + 1), omitted: 'size' },
    { type: 'application/yaml', text: dense(MOST_VALUES + 1), omitted: 'size' },
    { type: 'application/json', text: named(MOST_NAMES + 1), omitted: 'size' },
    { type: 'application/json', text: nested(100_000), omitted: 'depth' },
    { type: 'application/yaml', text: `b: ${'a'.repeat(LONGEST_YAML)}`, omitted: 'size' },
  ])('$type is left out as $omitted (21.4)', ({ type, text, omitted }) => {
    expect(recordedOf(text, { contentType: type })).toEqual({ omitted })
  })

  test.each([
    { what: 'values', text: dense(MOST_VALUES) },
    { what: 'different names', text: named(MOST_NAMES) },
  ])('a body with as many $what as a record may have is recorded (21.4)', ({ text }) => {
    expect(recordedOf(text, { contentType: 'application/json' })).toEqual({ json: text })
  })

  test.each([1001, 4000])('YAML of %i levels of blocks is left out (21.4)', (levels) => {
    const recorded = recordedOf(`${'- '.repeat(levels)}a`, { contentType: 'application/yaml' })
    // How deep its parser gets depends on the stack.
    expect(recorded).toEqual({ omitted: expect.stringMatching(/^(?:depth|malformed)$/) })
  })

  test('YAML of 200 levels of blocks is recorded (21.4)', () => {
    const text = `${'- '.repeat(200)}a`
    expect(recordedJson(text, { contentType: 'application/yaml' })).toBe(
      `${'['.repeat(200)}"a"${']'.repeat(200)}`,
    )
  })

  test('1,000 levels are recorded, and what is in a text counts for nothing (21.4)', () => {
    expect(recordedJson(nested(MOST_LEVELS), {})).toBe(nested(MOST_LEVELS))
    const text = JSON.stringify({ a: nested(MOST_LEVELS) })
    expect(recordedJson(text, {})).toBe(text)
  })

  test('a compressed body is left out as protobuf (21.4)', () => {
    const body = { bytes: Buffer.from('{"a":1}') }
    const message = { body, contentType: 'application/json', contentEncoding: 'gzip' }
    expect(parsedBody(message, parsePlainYaml)).toEqual({ omitted: 'protobuf' })
  })

  test.each(['size', 'memory', 'incomplete', 'unread'] as const)(
    'a body without a whole copy is left out as %s (21.4)',
    (omitted) => {
      const message = { body: { omitted }, contentType: undefined, contentEncoding: undefined }
      expect(parsedBody(message, parsePlainYaml)).toEqual({ omitted })
    },
  )
})

describe('one line', () => {
  test('invalid UTF-8 becomes U+FFFD, and the line stays parseable (21.4)', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.from([0xc3, 0xff, 0xed, 0xa0, 0x80, 0xf0]),
    ])
    const text = recordedJson(Buffer.concat([bytes, Buffer.from('","b":1.0}')]), {})
    expect(JSON.parse(text)).toEqual({ a: '\ufffd'.repeat(6), b: 1 })
  })

  test('no character in it ends a line for any reader (21.3)', () => {
    const text = '{ "a": "\\n\\r\\u0085\\u2028\u2029\u0085",\r\n"b":1.0 }'
    expect(recordedJson(text, {})).toBe('{"a":"\\n\\r\\u0085\\u2028\\u2029\\u0085","b":1.0}')
  })

  test('half a surrogate pair is escaped (21.3)', () => {
    expect(recordedJson('["\\ud800"]', {})).toBe('["\\ud800"]')
  })

  test('a body that grows beyond the limit is left out as size (21.4)', () => {
    const bytes = Buffer.concat([Buffer.from('"'), Buffer.alloc(50, 0xff), Buffer.from('"')])
    expect(recordedOf(bytes, { limit: 100 })).toEqual({ omitted: 'size' })
    expect(recordedOf(bytes, { limit: 152 })).toEqual({ json: `"${'\ufffd'.repeat(50)}"` })
  })
})

describe('the name in the body of a create', () => {
  const KEY = generateKey()
  test.each([
    { text: '{"metadata":{"name":"a"}}', name: 'a' },
    { text: `{"metadata":{"name":"x-${KEY}"}}`, name: 'x-<hidden>' },
    { text: '{"metadata":{"name":1.0}}', name: undefined },
    { text: '{"metadata":{"name":{"a":"b"}}}', name: undefined },
    { text: '{"metadata":{"name":""}}', name: undefined },
    { text: `{"metadata":{"name":"${'a'.repeat(254)}"}}`, name: undefined },
    { text: '{"metadata":null}', name: undefined },
    { text: '{"__proto__":{"metadata":{"name":"a"}}}', name: undefined },
    { text: '[]', name: undefined },
    { text: '{', name: undefined },
    { text: '', name: undefined },
  ])('$text is named $name (21.3)', ({ text, name }) => {
    const message = {
      body: { bytes: Buffer.from(text) },
      contentType: 'application/json',
      contentEncoding: undefined,
    }
    expect(createdName(parsedBody(message, parsePlainYaml))).toBe(name)
  })
})
