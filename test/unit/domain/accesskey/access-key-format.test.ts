import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { formatAccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { KEY_PATTERN, hasValidChecksum } from '../../../support/canary.ts'

const bytes = (last: number, fill = 0): Uint8Array => new Uint8Array(32).fill(fill).with(31, last)
const keyOf = (random: Uint8Array): string => formatAccessKey(random, crc32)

describe('formatAccessKey writes 32 random bytes as an access key (contract 3.2)', () => {
  test.each([
    { name: 'zero is written as padding only', from: bytes(0), secret: '0'.repeat(43) },
    { name: 'digits are the lowest values', from: bytes(9), secret: `${'0'.repeat(42)}9` },
    { name: 'capital letters follow the digits', from: bytes(10), secret: `${'0'.repeat(42)}A` },
    { name: 'small letters are the highest values', from: bytes(61), secret: `${'0'.repeat(42)}z` },
    {
      name: 'the most significant digit is the first',
      from: bytes(62),
      secret: `${'0'.repeat(41)}10`,
    },
    { name: 'the greatest number fits', from: bytes(255, 255), secret: base62(2n ** 256n - 1n) },
  ])('$name', ({ from, secret }) => {
    const key = keyOf(from)
    expect(key.slice(4, 47)).toBe(secret)
    expect(key).toMatch(KEY_PATTERN)
    expect(hasValidChecksum(key)).toBe(true)
  })

  test('the same bytes always give the same key', () => {
    expect(keyOf(Uint8Array.from({ length: 32 }, (_, at) => at))).toBe(WHOLE_KEY)
  })

  test('different random bytes give different keys with valid checksums', () => {
    const keys = Array.from({ length: 2000 }, () => keyOf(randomBytes(32)))
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter((key) => !hasValidChecksum(key))).toEqual([])
  })

  test('the format holds every 256-bit number', () => {
    expect(62n ** 43n).toBeGreaterThan(2n ** 256n)
    expect(62n ** 6n).toBeGreaterThan(2n ** 32n)
  })

  test.each([0, 31, 33])('%i random bytes are refused', (length) => {
    expect(() => keyOf(new Uint8Array(length))).toThrow('32 random bytes')
  })
})

describe('a secret scanner recognizes keys by their checksum', () => {
  const key = keyOf(bytes(7))
  test.each([
    { name: 'the key itself', text: key, valid: true },
    { name: 'another checksum', text: key.replace(/.$/, '!'), valid: false },
    { name: 'one character of the secret changed', text: key.replace('07_', '08_'), valid: false },
    { name: 'another prefix', text: key.replace('pak', 'ghp'), valid: false },
    { name: 'a character too many', text: `${key}0`, valid: false },
    { name: 'a trailing line break', text: `${key}\n`, valid: false },
    { name: 'a key that a user chose', text: 'a-key-that-somebody-chose-themselves', valid: false },
    { name: 'the empty text', text: '', valid: false },
  ])('$name', ({ text, valid }) => {
    expect(hasValidChecksum(text)).toBe(valid)
  })
})

describe('the checksum of the format is the CRC-32 of IEEE 802.3', () => {
  test.each([
    { text: '', crc: 0x0000_0000 },
    { text: 'a', crc: 0xe8b7_be43 },
    { text: 'abc', crc: 0x3524_41c2 },
    { text: '123456789', crc: 0xcbf4_3926 },
    { text: 'The quick brown fox jumps over the lazy dog', crc: 0x414f_a339 },
  ])('CRC-32 of "$text"', ({ text, crc }) => {
    expect(crc32(Buffer.from(text))).toBe(crc)
  })
})

/** From an independent implementation in Python; split, so that no secret scanner takes it for a key. */
const WHOLE_KEY = ['pak', '003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf', '1Yo7hP'].join('_')

/** Does not share code with what it tests: converts from the most significant digit. */
function base62(number: bigint): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  return Array.from({ length: 43 }, (_, at) =>
    digits.charAt(Number((number / 62n ** BigInt(42 - at)) % 62n)),
  ).join('')
}
