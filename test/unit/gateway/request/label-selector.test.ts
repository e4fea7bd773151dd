import { describe, expect, test } from 'vitest'
import { isLabelSelector } from '../../../../src/gateway/request/label-selector.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'

const LONG_PREFIX = `${'a.'.repeat(126)}b`

describe('the parser of label selectors, like that of the API server (11.6)', () => {
  // biome-ignore format: a table
  test.each([
    '', ' ', '\t\r\n ', 'a', ' a ', 'a,b', 'a , b', '!a', '! a', '!a,b', 'a=', 'a==', 'a!=', 'a=b', 'a == b', 'a!=b,c',
    'a in (b)', 'a in(b)', 'a notin (b, c)', 'a in ()', 'a in (,)', 'a in (,b)', 'a in (b,)', 'a in (b,,c)',
    'a in (b,,,c)', 'a in (,,,)', 'a\tin\n(\rb )', 'in', 'notin', '!in', 'in in (in)', 'in=in', 'notin notin (notin)',
    'a>1', 'a < 9223372036854775807', 'a>007', 'x.y/a', `${LONG_PREFIX}/a`, 'a-_.9=B-_.9', `${'a'.repeat(63)}=${'b'.repeat(63)}`,
    'a=b,!c,d in (e),f>1', '!a==b'.slice(0, 2),
  ])('accepts %j', (text) => expect(isLabelSelector(text)).toBe(true))

  // biome-ignore format: a table
  test.each([
    ',', 'a,', ',a', 'a,,b', '!', '!!a', '!a=b', '!a in (b)', '=', '=a', 'a b', 'a=b c', 'a=b=c', 'a===b', 'a=!b', 'a=(b)', 'a!', 'a!b',
    'a in', 'a in b', 'a in (', 'a in (b', 'a in (b c)', 'a in (b))', 'a in (=)', 'a in ((b))', 'a in (,,)', 'a in (!b)', 'a in (b), ', 'a inn (b)',
    'a IN (b)', 'a>', 'a>b', 'a>-1', 'a>+1', 'a>1.0', 'a>9223372036854775808', 'a>=1', 'a<>1', '>1', '()', '(a)', '-a', 'a-', 'a=-b', 'a=b-', '_a', 'a=.b',
    '/a', 'x/', 'x/y/z', 'X/a', 'x_y/a', '-x/a', 'x-/a', 'x..y/a', '.x/a', 'x./a', `${LONG_PREFIX}c/a`, 'a'.repeat(64), `a=${'b'.repeat(64)}`,
    'é', 'a=é', 'a\u00a0', 'a\u000b', 'a\0', 'a=b\0,!!', '"a"', 'a=*', 'a in (*)',
  ])('rejects %j', (text) => expect(isLabelSelector(text)).toBe(false))
})

// A backtracking parser would not return from the first of them.
test.each([60, 100_000])(
  'the parser rejects a nearly valid label selector with %i commas at once (11.6)',
  (count) => {
    for (const almost of [', ', ' ,', ',a ', 'a, '])
      expect(isLabelSelector(`a in (${almost.repeat(count)}!`)).toBe(false)
  },
)

/** The same grammar in a simple form: split into requirements, each parsed by itself. */
function reads(text: string): boolean {
  const words = text.match(/!=|==|[=!(),<>]|[^=!(),<> \t\r\n]+/g) ?? []
  if (words.length === 0) return true
  const requirements: string[][] = [[]]
  let depth = 0
  for (const word of words) {
    if (word === '(') depth += 1
    if (word === ')') depth -= 1
    if (word === ',' && depth === 0) requirements.push([])
    else requirements.at(-1)?.push(word)
  }
  return depth === 0 && requirements.every(isOne)
}

const isName = (word = ''): boolean => /^[a-z]$/.test(word) || word === 'in' || word === '1'

function isOne([first, second, third, ...rest]: readonly string[]): boolean {
  if (first === '!') return isName(second) && third === undefined
  if (!isName(first)) return false
  if (second === undefined) return true
  if (second === '=' || second === '==' || second === '!=')
    return (third === undefined || isName(third)) && rest.length === 0
  if (second === '<' || second === '>') return third === '1' && rest.length === 0
  if (second !== 'in' || third !== '(' || rest.at(-1) !== ')') return false
  const inside = rest.slice(0, -1)
  if (inside.some((word) => word !== ',' && !isName(word))) return false
  // There is at least one comma between two values.
  const hasPair = inside.some((word, at) => word !== ',' && isName(inside[at + 1]))
  // The API server takes commas two at a time, and a bracket must follow a value or a single one.
  const commas = inside.length - 1 - inside.findLastIndex((word) => word !== ',')
  return !hasPair && (commas === 0 || commas % 2 === 1)
}

test('the parser agrees with a simpler parser on random label selectors (11.6)', () => {
  const PIECES = [
    'a',
    'b',
    'in',
    '1',
    '=',
    '==',
    '!=',
    '!',
    '(',
    ')',
    ',',
    '<',
    '>',
    ' ',
    ' in (',
    ')',
  ]
  let accepted = 0
  for (let seed = 0; seed < repeated(5000, 100_000); seed += 1) {
    const random = randomFrom(seed)
    const length = 1 + Math.floor(random.between(0, 9))
    const text = Array.from({ length }, () => `${random.pick(PIECES)} `).join('')
    expect({ text, is: isLabelSelector(text) }).toEqual({ text, is: reads(text) })
    accepted += isLabelSelector(text) ? 1 : 0
  }
  expect(accepted).toBeGreaterThan(100)
})
