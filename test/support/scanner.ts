// A secret scanner as docs/ownedaccesskey.md describes it, on Node's own CRC-32.
import { crc32 } from 'node:zlib'

/** The form of a generated key (contract 3.2). */
export const KEY_PATTERN = /^pak_([0-9A-Za-z]{43})_([0-9A-Za-z]{6})$/

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Whether the text has the form of a generated key and its checksum fits. */
export function hasValidChecksum(text: string): boolean {
  const [, secret, checksum = ''] = KEY_PATTERN.exec(text) ?? []
  if (secret === undefined) return false
  let value = 0
  for (const digit of checksum) value = value * 62 + DIGITS.indexOf(digit)
  return value === crc32(secret)
}
