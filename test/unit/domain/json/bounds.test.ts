// The size of JSON before it is parsed (contract 13.3).
import { describe, expect, test } from 'vitest'
import { exceedsBounds, exceedsNames } from '../../../../src/domain/json/bounds.ts'

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
    expect(exceedsBounds(Buffer.from(text), { levels: most, values: 1000 })).toBe(isDeeper)
  })

  test.each([
    { text: '[]', most: 1, isMore: false },
    { text: '[1,2,3]', most: 3, isMore: false },
    { text: '[1,2,3,4]', most: 3, isMore: true },
    { text: '{"a":1,"b":{}}', most: 3, isMore: false },
    { text: '{"a":1,"b":{},"c":[]}', most: 4, isMore: true },
    { text: '[",,,,"]', most: 1, isMore: false },
    { text: `[${'[],'.repeat(1000)}1]`, most: 1000, isMore: true },
  ])('$text has more than $most values: $isMore (13.3)', ({ text, most, isMore }) => {
    expect(exceedsBounds(Buffer.from(text), { levels: 64, values: most })).toBe(isMore)
  })
})

test.each([
  { text: '', most: 0, isMore: false },
  { text: '["a","b"]', most: 0, isMore: false },
  { text: '{"a":1,"b":2}', most: 2, isMore: false },
  { text: '{"a":{"b":2},"c":3}', most: 2, isMore: true },
  { text: '[{"a":1},{"a":2},{"a":3}]', most: 1, isMore: false },
  { text: '{"a" \n:1,"b"\t:2}', most: 1, isMore: true },
  { text: String.raw`{"a\":\"b":"c\":"}`, most: 1, isMore: false },
  { text: '{"a":"b:c","d', most: 1, isMore: false },
])('$text has more than $most different names: $isMore (21.4)', ({ text, most, isMore }) => {
  expect(exceedsNames(Buffer.from(text), most)).toBe(isMore)
})
