import { expect, test } from 'vitest'
import { addressText, parseBindAddress } from '../../../src/runtime/address.ts'

test.each([
  { text: ':8080', is: { host: null, port: 8080 } },
  { text: '127.0.0.1:8080', is: { host: '127.0.0.1', port: 8080 } },
  { text: '127.0.0.1:0', is: { host: '127.0.0.1', port: 0 } },
  { text: 'localhost:65535', is: { host: 'localhost', port: 65_535 } },
  { text: '[::1]:8080', is: { host: '::1', port: 8080 } },
])('$text is an address and is written as it was read', ({ text, is }) => {
  expect(parseBindAddress(text)).toEqual(is)
  expect(addressText(is)).toBe(text)
})

test('the address 0 means no server', () => {
  expect(parseBindAddress('0')).toBe('off')
})

test.each([
  '',
  '8080',
  ':',
  ':http',
  ':-1',
  ':65536',
  '::1:8080',
  '[::1]',
  'a b:80',
  ':80 ',
  ':080808',
])('"%s" is malformed', (text) => {
  expect(parseBindAddress(text)).toBeNull()
})
