import { describe, expect, test } from 'vitest'
import { formatYaml, parsePlainYaml, parseYaml } from '../../../src/runtime/yaml.ts'

describe('YAML of untrusted sources (E8)', () => {
  test.each([
    { name: 'an object', text: 'a: {b: [1, x]}', value: { a: { b: [1, 'x'] } } },
    { name: 'JSON', text: '{"a": "b"}', value: { a: 'b' } },
    {
      name: 'the same name in two maps',
      text: 'a: {x: 1}\nb: {x: 1}',
      value: { a: { x: 1 }, b: { x: 1 } },
    },
    { name: 'an unused anchor', text: 'a: &x 1', value: { a: 1 } },
    { name: 'a name like a merge key', text: '"<<": {a: 1}', value: { '<<': { a: 1 } } },
    { name: 'empty', text: '', value: null },
  ])('may be $name', ({ text, value }) => {
    expect(parsePlainYaml(text)).toEqual(value)
  })

  test.each([
    { name: 'an alias', text: 'a: &x 1\nb: *x' },
    { name: 'a duplicate name', text: 'a: 1\nb: 2\na: 3' },
    { name: 'a nested duplicate name', text: 'x:\n- {a: 1, "a": 2}' },
    { name: 'a number and the same number as a string', text: '1: a\n"1": b' },
    { name: 'a merge key (X5)', text: '<<: {a: 1}' },
    { name: 'a tag (X5)', text: 'spec: !!omap [- scope: {}]' },
    { name: 'a set (X5)', text: 'spec: !!set {scope}' },
    { name: 'a directive (X5)', text: '\n...\n%YAML 1.2\n---\na: 1' },
    { name: 'a line separator (X5)', text: 'a: b\u2028c' },
    { name: 'an infinite number (X5)', text: 'a: .inf' },
    { name: 'a map as a name', text: '? {a: 1}\n: b' },
    { name: 'two documents', text: 'a: 1\n---\nb: 2' },
    { name: 'invalid YAML', text: 'a: [1' },
    { name: '20,000 opening brackets', text: '['.repeat(20_000) },
  ])('may not be $name, and the error quotes no value', ({ text }) => {
    expect(() => parsePlainYaml(`secret: pak_secret\n${text}`)).toThrow(
      /^(?!.*pak_secret)not valid YAML/,
    )
  })

  test.each([
    { text: 'a: !!str 1', because: 'at line 1, column 10: tags are not accepted' },
    { text: 'b: 1\n<<: {a: 1}', because: 'at line 2, column 1: the merge key << is not accepted' },
    { text: 'y: 1', because: 'at line 1, column 1: names in a map are texts: quote any other' },
    { text: '1: 1', because: 'at line 1, column 1: names in a map are texts: quote any other' },
    {
      text: 'a: 1e999',
      because: 'at line 1, column 4: a number is too large, or none that JSON has',
    },
    { text: 'a: *x', because: 'at line 1, column 4: aliases are not accepted' },
    { text: 'a: 1\na: 2', because: 'at line 2, column 1: a map has a name twice' },
    { text: 'a: 1\n---\nb: 2', because: 'at line 2, column 1: there is more than one document' },
    {
      text: 'a: [1',
      because: 'at line 1, column 6: a line is indented wrongly, or a bracket is not closed',
    },
    {
      text: 'a: b: c',
      because:
        'at line 1, column 4: a line is indented wrongly, or a text with a colon lacks quotes',
    },
    { text: 'a: "x', because: 'at line 1, column 6: a quote or a sign is missing' },
    { text: 'a: @x', because: 'at line 1, column 4: it is not well-formed' },
  ])('the refusal names the rule: $because (13.3)', ({ text, because }) => {
    expect(() => parsePlainYaml(text)).toThrow(new Error(`not valid YAML ${because}`))
  })

  test('does not change prototypes (E7)', () => {
    const value = parsePlainYaml('__proto__: {x: 1}') as object
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})

test('formatted YAML is parsed to the same value, by the rules of YAML 1.1 and 1.2', () => {
  const value = {
    words: ['yes', 'no', 'on', 'off', 'y', 'n', 'true', 'null', '~', ''],
    numbers: ['1', '0777', '0x1f', '1e3', '1_000', '12:30:45', '.inf', '2026-11-21'],
    signs: ['*a', '&a', '- a', '# a', 'a: b', '<<', '{}', "it's", '"', 'a\nb\n', ' a '],
    n: 1,
    y: null,
    twice: [{ a: 1 }],
  }
  const text = formatYaml(value)
  expect(parseYaml(text)).toEqual(value)
  expect(text).toMatch(/^ {2}- "no"$/m)
  expect(text).toMatch(/^ {2}- "0777"$/m)
  const one = { a: 1 }
  expect(formatYaml([one, one])).toBe('- a: 1\n- a: 1\n')
})
