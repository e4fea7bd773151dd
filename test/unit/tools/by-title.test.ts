import { describe, expect, test } from 'vitest'
import { escaped, mayHaveTitle } from '../../../tools/test/by-title.ts'

describe('a source', () => {
  // biome-ignore format: a table
  test.each([
    { source: "test('a key ends at its ttl (2.3)', () => {})", title: 'ends at its ttl', has: true },
    { source: "test('a key ends at its ttl (2.3)', () => {})", title: 'ends at its cap', has: false },
    { source: "test.each(RULES)('rule %s is in the title of a test', f)", title: 'rule 2.3 is in the title of a test', has: true },
    { source: "test.each(RULES)('rule %s is in the title of a test', f)", title: 'rule 2.3 is nowhere', has: false },
    { source: "test.each(ROWS)('an update by $by: $fault (12.1)', f)", title: 'an update by ada: no (12.1)', has: true },
    { source: 'test(`its limit is ${LIMIT} MiB`, f)', title: 'its limit is 8 MiB', has: true },
    { source: "test.each(ROWS)('$name', f)", title: 'anything else', has: false },
    { source: "const ROWS = [{ name: 'no limit at all' }]\ntest.each(ROWS)('$name', f)", title: 'no limit at all', has: true },
  ])('$source has a test $title: $has', ({ source, title, has }) =>
    expect(mayHaveTitle(source, title)).toBe(has))
})

test('a title is found by its own characters only', () => {
  const title = 'a * in [2.3] (v1+) of a|b/c\\d?'
  expect(new RegExp(`^${escaped(title)}$`).test(title)).toBe(true)
  expect(new RegExp(escaped('2.3')).test('2x3')).toBe(false)
})
