import { parse } from 'yaml'
import { describe, expect, test } from 'vitest'
import { bodyText, yamlText } from '../../../../src/domain/json/body-text.ts'

const APPLY = 'application/apply-patch+yaml'

// Every character of the basic plane; a half of a surrogate pair is replaced, as the API server does in JSON.
const characters = Array.from({ length: 0x1_00_00 }, (_, code) => String.fromCharCode(code))

/** The characters that the API server's parser of YAML reads as themselves: printable ASCII, and letters. */
const READABLE = /^[\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/

describe('the body of a server-side apply (6.5)', () => {
  test('has no character that the API server cannot read, and the same value in JSON and YAML', () => {
    const texts = Array.from({ length: 64 }, (_, part) =>
      characters.slice(part * 1024, (part + 1) * 1024).join('.'),
    )
    const value = { texts, names: { 'a\u0080\u2028b': '\ufffe😀' } }
    const text = bodyText(value, APPLY)
    expect(READABLE.test(text.replaceAll('😀', ''))).toBe(true)
    const wellFormed = { ...value, texts: texts.map((one) => one.toWellFormed()) }
    expect(JSON.parse(text)).toEqual(wellFormed)
    expect(parse(text)).toEqual(wellFormed)
  })

  test('has no escape of half a surrogate pair, which YAML refuses', () => {
    expect(yamlText(['a\ud800b', '\\ud800'])).toBe('["a\ufffdb","\\\\ud800"]')
  })

  test('marks a long key, whose end YAML would not look for', () => {
    const name = 'k'.repeat(3000)
    const text = yamlText({ a: { [name]: 1, b: [null, true] } })
    expect(text).toContain(`{? "${name}" : 1,"b":[null,true]}`)
    expect(parse(text)).toEqual({ a: { [name]: 1, b: [null, true] } })
  })

  test('leaves undefined fields out, as JSON does', () => {
    expect(yamlText({ a: undefined, b: [undefined] })).toBe('{"b":[null]}')
  })
})

test('other bodies are JSON', () => {
  const value = { a: 'b\u0080', c: undefined }
  for (const type of ['application/json', 'application/json-patch+json', undefined])
    expect(bodyText(value, type)).toBe(JSON.stringify(value))
})
