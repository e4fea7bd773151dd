import { expect, test } from 'vitest'
import { isDataKey } from '../../../src/domain/data-key.ts'

test.each([
  { text: 'token', is: true },
  { text: 'tls.key', is: true },
  { text: '.netrc', is: true },
  { text: '.a', is: true },
  { text: '-', is: true },
  { text: 'A_b-9.', is: true },
  { text: 'a'.repeat(253), is: true },
  { text: 'a'.repeat(254), is: false },
  { text: '', is: false },
  { text: '.', is: false },
  { text: '..', is: false },
  { text: '..a', is: false },
  { text: 'a/b', is: false },
  { text: 'a b', is: false },
  { text: 'a\n', is: false },
  { text: 'é', is: false },
])('$text is a key of data: $is', ({ text, is }) => {
  expect(isDataKey(text)).toBe(is)
})
