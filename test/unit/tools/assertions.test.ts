import { expect, test } from 'vitest'
import { assertionsIn, fewer, rulesIn } from '../../../tools/assertions/by-rule.ts'

test.each([
  { title: 'a key > ends (2.3)', rules: ['2.3'] },
  { title: 'keys (2.3, 2.6) > end (2.6, 13.4)', rules: ['2.3', '2.6', '13.4'] },
  { title: 'metrics (contract 15)', rules: ['15'] },
  { title: 'attacks (12.4, X4)', rules: ['12.4'] },
  { title: 'waits 2.3 s at 127.0.0.1 (0.5)', rules: [] },
])('the title "$title" names its rules', ({ title, rules }) => {
  expect(rulesIn(title)).toEqual(rules)
})

const lines = (...tests: readonly (readonly [test: string, expects: number, retry?: number])[]) =>
  tests
    .map(([name, expects, retry = 0]) => `${JSON.stringify({ test: name, expects, retry })}\n`)
    .join('')

test('only the last try of a retried test counts, and both of two tests of one name', () => {
  const found = assertionsIn(
    lines(['a (2.3)', 1], ['a (2.3)', 4, 1], ['b (2.3, 2.6)', 1], ['b (2.3, 2.6)', 1], ['c', 5]),
  )
  expect(found.total).toBe(11)
  expect([...found.byRule]).toEqual([
    ['2.3', 6],
    ['2.6', 2],
  ])
})

test('the comparison lists in order each rule with fewer assertions, or without any', () => {
  const before = assertionsIn(lines(['a (10.1)', 3], ['b (2.3)', 2], ['c (2.4)', 2]))
  const after = assertionsIn(lines(['other (2.3)', 1], ['c (2.4)', 9]))
  expect(fewer(before, after)).toEqual(['2.3: 2 before, 1 after', '10.1: 3 before, 0 after'])
})
