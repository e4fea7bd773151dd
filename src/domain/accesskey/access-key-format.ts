// The format of an access key (contract 3.2): pak_<43 base62>_<6 base62 of their CRC-32>.

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_BYTES = 32
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

/**
 * A key in clear from 32 bytes of a cryptographic random generator.
 *
 * The bytes are one number, written in base 62. 62^43 exceeds 2^256, so each number has its own text and all 256
 * bits of entropy are kept. Digits taken one by one modulo 62 would not be uniform.
 *
 * @param crc32 CRC-32 as in IEEE 802.3, gzip and PNG, unsigned: crc32 of node:zlib
 * @throws RangeError unless there are 32 bytes
 */
export function formatAccessKey(randomBytes: Uint8Array, crc32: (text: string) => number): string {
  if (randomBytes.length !== RANDOM_BYTES)
    throw new RangeError(`a key is made of ${RANDOM_BYTES} random bytes`)
  const secret = base62(numberOf(randomBytes), SECRET_LENGTH)
  return `pak_${secret}_${base62(BigInt(crc32(secret)), CHECKSUM_LENGTH)}`
}

const numberOf = (bytes: Uint8Array): bigint =>
  bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n)

/** Most significant digit first, padded with 0. */
function base62(number: bigint, length: number): string {
  let rest = number
  let text = ''
  while (text.length < length) {
    text = DIGITS.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
