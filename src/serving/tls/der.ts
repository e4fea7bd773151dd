// DER encoding (X.690), the part that certificates need.

/** Tag, length, value; the value is the concatenated parts, shorter than 64 KiB. */
export function tlv(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const value = Buffer.concat(parts)
  const { length } = value
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Uint8Array.of(tag, ...(length < 0x80 ? [length] : long)), value])
}

/** SEQUENCE of the parts. */
export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => tlv(0x30, ...parts)

/** SET of the parts, which must be in DER order. */
export const set = (...parts: readonly Uint8Array[]): Uint8Array => tlv(0x31, ...parts)

/** OBJECT IDENTIFIER, given as the hexadecimal digits of its encoding. */
export const oid = (hex: string): Uint8Array => tlv(0x06, Buffer.from(hex, 'hex'))

/** INTEGER of these bytes: two's complement, without redundant leading bytes. */
export const integer = (...bytes: readonly number[]): Uint8Array =>
  tlv(0x02, Uint8Array.from(bytes))

/** OCTET STRING. */
export const octets = (bytes: Uint8Array): Uint8Array => tlv(0x04, bytes)

/** BIT STRING; `unused` counts the unused bits at its end. */
export const bits = (bytes: Uint8Array, unused = 0): Uint8Array =>
  tlv(0x03, Uint8Array.of(unused), bytes)

/** UTF8String. */
export const utf8String = (text: string): Uint8Array => tlv(0x0c, Buffer.from(text, 'utf8'))

/** BOOLEAN TRUE; DER omits FALSE where it is the default. */
export const TRUE = tlv(0x01, Uint8Array.of(0xff))

/** A time in a certificate: RFC 5280 wants four digits for years from 2050 on, and two before. */
export function time(atMs: number): Uint8Array {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]|\..*/g, '')
  const isLate = digits >= '2050'
  return tlv(isLate ? 0x18 : 0x17, Buffer.from(`${isLate ? digits : digits.slice(2)}Z`, 'ascii'))
}

/** The text form of DER. */
export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}
