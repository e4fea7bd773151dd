import { describe, expect, test } from 'vitest'
import {
  type StoreContent,
  isSameContent,
  pulledData,
  pushedContent,
} from '../../../../src/domain/store/secret-content.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const MIB = 1024 * 1024
/** As JSON gives it: `__proto__` is a name as any other. */
const json = (text: string): StoreContent => JSON.parse(text) as StoreContent
const names = (count: number): StoreContent =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, '']))

describe('an entry as data of a Secret (36.3)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly content: StoreContent }>([
    { name: 'no names', content: {} },
    { name: 'an empty value', content: { a: '' } },
    { name: 'text of any language', content: { a: 'äöü', b: '漢字', c: '😀', d: 'a\u0308' } },
    { name: 'control characters', content: { a: '\u0000', b: 'a\r\nb', c: '\u007f\u0085' } },
    { name: 'a byte order mark', content: { a: '\uFEFFx' } },
    { name: 'compact JSON', content: { a: '{"b":[1,2.50]}', b: 'null', c: 'true' } },
    { name: 'a value that looks like base64', content: { a: 'YWRh' } },
    { name: 'names of objects', content: json('{"__proto__":"x","constructor":"y","toString":"z"}') },
    { name: '1,000 names', content: names(1000) },
    { name: '1 MiB', content: { a: 'x'.repeat(MIB) } },
    { name: '1 MiB in parts', content: { a: 'x'.repeat(MIB / 2), b: 'ä'.repeat(MIB / 4) } },
  ])('$name', ({ content }) => {
    const pulled = pulledData(content)
    expect(pulled.ok).toBe(true)
    const data = pulled.ok ? pulled.content : {}
    expect(Object.keys(data)).toEqual(Object.keys(content))
    for (const [key, text] of Object.entries(content))
      expect(Buffer.from(Object.getOwnPropertyDescriptor(data, key)?.value, 'base64').equals(Buffer.from(text))).toBe(true)
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly content: StoreContent; readonly fault: string }>([
    { name: '1,001 names', content: names(1001), fault: 'more than 1000 names' },
    { name: '1 MiB and a byte', content: { a: 'x'.repeat(MIB + 1) }, fault: 'more than 1 MiB' },
    { name: '1 MiB and a byte in parts', content: { a: 'x'.repeat(MIB), b: 'y' }, fault: 'more than 1 MiB' },
    { name: '1 MiB of characters that take two bytes', content: { a: 'ä'.repeat(MIB / 2 + 1) }, fault: 'more than 1 MiB' },
    { name: 'half of a character', content: { a: 'secret\ud83d' }, fault: 'half of a character' },
    { name: 'the other half', content: { a: '\ude00secret' }, fault: 'half of a character' },
  ])('$name: none of it', ({ content, fault }) => {
    const pulled = pulledData(content)
    expect(pulled.ok ? '' : pulled.fault).toContain(fault)
    expect(JSON.stringify(pulled)).not.toContain('secret')
  })

  test.each([
    '',
    '.',
    '..',
    '...',
    '..a',
    '..data',
    'a/b',
    'a b',
    'a\n',
    'ä',
    'a=b',
    'a:b',
    'a\\b',
    'a\u0000',
    '\uFEFFa',
    'a$b',
    'x'.repeat(254),
  ])('no name %j: none of it, and no value or name in the fault', (name) => {
    const pulled = pulledData({ good: 'secret', [name]: 'secret' })
    expect(pulled.ok).toBe(false)
    expect(JSON.stringify(pulled)).not.toContain('secret')
    expect(name.length > 3 && JSON.stringify(pulled).includes(name)).toBe(false)
  })

  test.each([
    'a',
    '-',
    '_',
    '.a',
    'a.',
    'a..b',
    '.a.',
    'A',
    '0',
    'tls.crt',
    '.dockerconfigjson',
    '__proto__',
    'x'.repeat(253),
  ])('name %j', (name) => {
    expect(pulledData(Object.fromEntries([[name, 'x']]))).toEqual({
      ok: true,
      content: Object.fromEntries([[name, 'eA==']]),
    })
  })
})

describe('the data of a Secret as an entry (36.4)', () => {
  test.each(['', 'x', 'ä', '漢字', '😀', '\u0000', '\uFEFFx', 'a\r\n', '\ufffd', '{"a":1}'])(
    'text %j stays as it is',
    (text) => {
      expect(pushedContent({ data: { a: base64(text) } })).toEqual({
        ok: true,
        content: { a: text },
      })
    },
  )

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly bytes: readonly number[] }>([
    { name: 'a byte that never is', bytes: [0xff] },
    { name: 'a lone continuation', bytes: [0x61, 0x80] },
    { name: 'a character that is cut', bytes: [0x61, 0xf0, 0x9f, 0x98] },
    { name: 'a long form of a character', bytes: [0xc0, 0xaf] },
    { name: 'half of a character', bytes: [0xed, 0xa0, 0xbd] },
    { name: 'a character beyond the last', bytes: [0xf4, 0x90, 0x80, 0x80] },
    { name: 'UTF-16', bytes: [0xff, 0xfe, 0x61, 0x00] },
    { name: 'a keystore', bytes: [0x30, 0x82, 0x03, 0xff, 0x00] },
  ])('$name refuses all of it', ({ bytes }) => {
    const data = { good: base64('secret'), bad: Buffer.from(bytes).toString('base64') }
    const pushed = pushedContent({ data })
    expect(pushed).toMatchObject({ ok: false, fault: expect.stringContaining('not UTF-8 text') })
    expect(JSON.stringify(pushed)).not.toContain('secret')
  })

  test('of a Secret without data there is none: it would empty the entry', () => {
    expect(pushedContent({}).ok).toBe(false)
    expect(pushedContent({ data: {} }).ok).toBe(false)
  })

  test('names of objects are names', () => {
    const pushed = pushedContent({ data: json('{"__proto__":"eA==","constructor":"eQ=="}') })
    expect(JSON.stringify(pushed)).toBe('{"ok":true,"content":{"__proto__":"x","constructor":"y"}}')
  })

  test('data that come back are what they were', () => {
    const data = { a: base64('ä'), 'b.c': base64('\uFEFF'), d: '' }
    const pushed = pushedContent({ data })
    expect(pulledData(pushed.ok ? pushed.content : {})).toEqual({ ok: true, content: data })
  })
})

describe('two contents (36.5)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly one: StoreContent; readonly other: StoreContent; readonly isSame: boolean }>([
    { name: 'both empty', one: {}, other: {}, isSame: true },
    { name: 'the same in another order', one: { a: '1', b: '2' }, other: { b: '2', a: '1' }, isSame: true },
    { name: 'values of one length', one: { a: 'ada' }, other: { a: 'eve' }, isSame: false },
    { name: 'values exchanged', one: { a: '1', b: '2' }, other: { a: '2', b: '1' }, isSame: false },
    { name: 'another name', one: { a: '1' }, other: { b: '1' }, isSame: false },
    { name: 'one more', one: { a: '1' }, other: { a: '1', b: '2' }, isSame: false },
    { name: 'an empty value and none', one: { a: '' }, other: {}, isSame: false },
    { name: 'composed and decomposed', one: { a: 'ä' }, other: { a: 'a\u0308' }, isSame: false },
    { name: 'with and without a byte order mark', one: { a: 'x' }, other: { a: '\uFEFFx' }, isSame: false },
    { name: 'another case', one: { a: 'x' }, other: { a: 'X' }, isSame: false },
    { name: 'a name of objects and none', one: json('{"__proto__":"x"}'), other: { a: 'x' }, isSame: false },
    { name: 'a name of objects that the other inherits', one: json('{"toString":"x"}'), other: { a: 'x' }, isSame: false },
    { name: 'both with a name of objects', one: json('{"__proto__":"x"}'), other: json('{"__proto__":"x"}'), isSame: true },
    { name: 'a name of objects with other values', one: json('{"__proto__":"x"}'), other: json('{"__proto__":"y"}'), isSame: false },
  ])('$name: $isSame', ({ one, other, isSame }) => {
    expect(isSameContent(one, other)).toBe(isSame)
    expect(isSameContent(other, one)).toBe(isSame)
  })
})
