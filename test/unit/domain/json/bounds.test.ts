// The size of JSON before it is parsed (contract 13.3).
import { describe, expect, test } from 'vitest'
import { exceedsBounds } from '../../../../src/domain/json/bounds.ts'

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
