import { describe, expect, test } from 'vitest'
import {
  withExactNumbers,
  withMarkedNumbers,
} from '../../../../../src/domain/audit/bodies/exact-numbers.ts'
import { randomFrom } from '../../../../support/random.ts'

/** The text after it was parsed and written again. */
const rewritten = (text: string): string =>
  withExactNumbers(JSON.stringify(JSON.parse(withMarkedNumbers(Buffer.from(text)).text)))

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('numbers', () => {
  test.each([
    '1e400',
    '-1e400',
    '-0',
    '-0.0',
    '1.0',
    '1.50',
    '1E+5',
    '1e-7',
    '9007199254740993',
    '-9223372036854775808',
    '123456789012345',
    '0',
    '-1',
    '0.1000000000000000055511151231257827',
  ])('%s is recorded digit for digit (21.4)', (number) => {
    for (const text of [number, `[${number},${number}]`, `{"a":${number},"b":[{"c":${number}}]}`])
      expect(rewritten(text)).toBe(text)
  })

  test.each([
    { name: 'a text that looks like a marked number', text: '["\x7f1.0","\x7f\x7f1.0",1.0]' },
    { name: 'a name that looks like one', text: '{"\x7f1.0":1.0,"\x7f":"\x7f"}' },
    { name: 'a quote before the mark', text: '["a\\"\x7f1.0","\\\\",1.0,"\\\\\\"\x7f2.0"]' },
    { name: 'a text of the mark alone', text: '["\x7f","x\x7f",-0]' },
    { name: 'no marks at all', text: '{"a":[1,"1.0",true,null,{"b":-12}]}' },
  ])('texts stay as they are beside numbers: $name (21.4)', ({ text }) => {
    expect(rewritten(text)).toBe(text)
  })

  test('an escaped mark is the same text as a mark (21.4)', () => {
    expect(rewritten('["\\u007f1.0","\\u007F\\u007f",1.0]')).toBe('["\x7f1.0","\x7f\x7f",1.0]')
  })

  test('a text that is no JSON stays none, and one that is stays so (21.4)', () => {
    const { pick } = randomFrom(40)
    const changed: string[] = []
    const parts = [
      '-',
      '0',
      '1',
      '12',
      '.',
      'e',
      'E',
      '+',
      '"',
      '\\',
      '\x7f',
      ',',
      '[',
      ']',
      'x',
      ' ',
    ]
    for (let round = 0; round < 5000; round += 1) {
      const text = Array.from({ length: 1 + (round % 6) }, () => pick(parts)).join('')
      for (const one of [text, `[${text}]`, `["${text}"]`])
        if (isJson(withMarkedNumbers(Buffer.from(one)).text) !== isJson(one)) changed.push(one)
    }
    expect(changed).toEqual([])
  })

  test('random JSON is the same after it was parsed and written again (21.4)', () => {
    const { pick } = randomFrom(41)
    const leaves = [
      '1.0',
      '-0',
      '1e400',
      '7',
      '"\x7f1.0"',
      '"\x7f\x7f"',
      '"a\\"\x7f"',
      'null',
      '""',
    ]
    const value = (depth: number): string => {
      if (depth === 0) return pick(leaves)
      const inner = [0, 1, 2].map(() => value(depth - 1))
      return pick([`[${inner.join(',')}]`, `{"\x7f2.0":${inner[0]},"b":${inner[1]}}`, pick(leaves)])
    }
    for (let round = 0; round < 2000; round += 1) {
      const text = value(4)
      expect(rewritten(text)).toBe(text)
    }
  })
})
