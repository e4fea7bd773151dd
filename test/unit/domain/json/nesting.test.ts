// How deep JSON is nested, before it is parsed (contract 13.3).
import { describe, expect, test } from 'vitest'
import { isDeeperThan } from '../../../../src/domain/json/nesting.ts'

describe('the levels of a text (13.3)', () => {
  test.each([
    { text: '', most: 0, isDeeper: false },
    { text: '7', most: 0, isDeeper: false },
    { text: '[]', most: 0, isDeeper: true },
    { text: '{"a":[1]}', most: 2, isDeeper: false },
    { text: '{"a":[{}]}', most: 2, isDeeper: true },
    { text: '[[],[],[],{}]', most: 2, isDeeper: false },
    { text: '{"[[[[":"{{{{"}', most: 1, isDeeper: false },
    { text: String.raw`["\"[[[[", "\\", []]`, most: 2, isDeeper: false },
    { text: String.raw`["\\",[[]]]`, most: 2, isDeeper: true },
    { text: '["[[[[', most: 1, isDeeper: false },
    { text: '['.repeat(65), most: 64, isDeeper: true },
  ])('$text has more than $most: $isDeeper', ({ text, most, isDeeper }) => {
    expect(isDeeperThan(Buffer.from(text), most)).toBe(isDeeper)
  })
})
