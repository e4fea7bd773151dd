// Names of objects that are made once (contract 25.3, 26.3): by what they are made from, so that a second create is a conflict.
import { createHash } from 'node:crypto'

const DIGITS = 26
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const BITS_OF_DIGIT = 5

/** The first 26 base32 digits of the SHA-256 of a text: 130 bits, which a name of Kubernetes may have. */
export function nameDigits(text: string): string {
  const bits = [...createHash('sha256').update(text).digest()]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('')
  const digits = Array.from({ length: DIGITS }, (_, at) => {
    const first = at * BITS_OF_DIGIT
    return BASE32.charAt(Number.parseInt(bits.slice(first, first + BITS_OF_DIGIT), 2))
  })
  return digits.join('')
}
