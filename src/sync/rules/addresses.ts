// IP addresses and ranges that objects of a virtual cluster may not name on the host (contract 18.2, 18.6).
import { isIP, isIPv4 } from 'node:net'
import type { Json } from '../../domain/json/json.ts'

/** The ranges that the operator's flags name; parsed with `parseCidr`. */
export interface AddressSettings {
  /** Refused beside the ranges that always are (`--deny-cidr`). */
  readonly denied: readonly Cidr[]
  /** The external IPs that Services may have (`--allow-external-ip-cidr`); empty = none. */
  readonly allowedExternal: readonly Cidr[]
}

/** An IP address as a number, and its length: 32 bits in IPv4, 128 in IPv6. */
interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

/** A range of addresses: those of one length that have the first `prefix` bits in common. */
export interface Cidr extends Address {
  /** As it was given, for messages. */
  readonly text: string
  readonly prefix: number
}

const CIDR = /^([^/]+)\/(0|[1-9]\d{0,2})$/

/**
 * The range of a text such as `10.0.0.0/8` or `fd00::/8`; null for any other text, also with bits set after the prefix:
 * it may be a slip. IPv4-mapped IPv6 ranges count as IPv4.
 */
export function parseCidr(text: string): Cidr | null {
  const [, base = '', length = ''] = CIDR.exec(text) ?? []
  const address = parseAddress(base)
  const prefix = Number(length)
  if (address === null || prefix > address.bits) return null
  const { bits, value } = address
  const free = BigInt(bits - prefix)
  if ((value >> free) << free !== value) return null
  if (!isWithin(address, MAPPED)) return { text, bits, value, prefix }
  return { text, ...lowIPv4(value), prefix: prefix - MAPPED.prefix }
}

/** null for a text that is no address. IPv6 zones are none: the API server takes no address with a zone. */
function parseAddress(text: string): Address | null {
  if (isIP(text) === 0 || text.includes('%')) return null
  if (isIPv4(text)) return { bits: 32, value: fromDigits(text.split('.').map(BigInt), 8n) }
  // URLs have one spelling of each address: groups of hexadecimal digits, also where the text ends in IPv4.
  const [head = '', tail = ''] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0n)
  return { bits: 128, value: fromDigits([...first, ...zeros, ...last], 16n) }
}

const groupsOf = (part: string): readonly bigint[] =>
  part === '' ? [] : part.split(':').map((group) => BigInt(`0x${group}`))

const fromDigits = (digits: readonly bigint[], bitsEach: bigint): bigint =>
  digits.reduce((value, digit) => (value << bitsEach) | digit, 0n)

const isWithin = ({ bits, value }: Address, cidr: Cidr): boolean => {
  const free = BigInt(cidr.bits - cidr.prefix)
  return bits === cidr.bits && value >> free === cidr.value >> free
}

const lowIPv4 = (value: bigint): Address => ({ bits: 32, value: BigInt.asUintN(32, value) })

/** A range of this program's own; bits after the prefix are free. */
function range(base: string, prefix: number): Cidr {
  const address = parseAddress(base)
  if (address === null) throw new Error(`${base} is not an IP address`)
  return { ...address, prefix, text: `${base}/${prefix}` }
}

/** IPv4-mapped addresses: a connection to one goes to the IPv4 address. */
const MAPPED = range('::ffff:0:0', 96)

/**
 * IPv6 ranges whose addresses stand for an IPv4 address, and how many bits follow it. Besides mapped addresses these are
 * those that a translator or a tunnel on the way may turn into IPv4. Prefixes that a network chose itself for NAT64 are
 * for `--deny-cidr`.
 */
const EMBEDDING: readonly (readonly [range: Cidr, bitsAfter: bigint])[] = [
  [MAPPED, 0n],
  // IPv4-compatible addresses, IPv4-translated ones, NAT64 (RFC 6052, RFC 8215), and 6to4.
  [range('::', 96), 0n],
  [range('::ffff:0:0:0', 96), 0n],
  [range('64:ff9b::', 96), 0n],
  [range('64:ff9b:1::', 48), 0n],
  [range('2002::', 16), 80n],
]

/** What is refused always, the narrowest ranges first. */
const REFUSED: readonly (readonly [range: Cidr, what: string])[] = [
  ...['169.254.169.254', '100.100.100.200', '168.63.129.16'].map(
    (base) => [range(base, 32), 'a metadata address'] as const,
  ),
  ...['fd00:ec2::254', 'fd20:ce::254'].map(
    (base) => [range(base, 128), 'a metadata address'] as const,
  ),
  [range('::1', 128), 'a loopback address'],
  [range('127.0.0.0', 8), 'a loopback address'],
  // Linux connects to itself where the address is 0.0.0.0, for which `::` stands; others of the range name no host.
  [range('0.0.0.0', 8), 'an unspecified address'],
  [range('169.254.0.0', 16), 'a link-local address'],
  [range('fe80::', 10), 'a link-local address'],
  [range('224.0.0.0', 4), 'a multicast address'],
  [range('ff00::', 8), 'a multicast address'],
]

/** A clause on the address, or on the IPv4 address that it stands for; null = it is not refused. */
function refusedAs(address: Address, denied: readonly Cidr[]): string | null {
  const meant = [address, ...embeddedIPv4(address)]
  const isMeant = (cidr: Cidr): boolean => meant.some((one) => isWithin(one, cidr))
  const what = REFUSED.find(([cidr]) => isMeant(cidr))?.[1]
  if (what !== undefined) return `is ${what}`
  const found = denied.find(isMeant)
  return found ? `is in the denied range ${found.text}` : null
}

const embeddedIPv4 = (address: Address): readonly Address[] =>
  EMBEDDING.filter(([cidr]) => isWithin(address, cidr)).map(([, bitsAfter]) =>
    lowIPv4(address.value >> bitsAfter),
  )

/**
 * Why the address may not stand at this place of a host object, as a sentence; null = it may. What is no address is
 * refused, and not quoted: it can be anything.
 */
export function addressRefusal(
  at: string,
  value: Json | undefined,
  denied: readonly Cidr[],
): string | null {
  const address = typeof value === 'string' ? parseAddress(value) : null
  if (typeof value !== 'string' || address === null) return `${at} must be an IP address`
  const because = refusedAs(address, denied)
  return because === null ? null : `${at} ${value} ${because}`
}

/** As `addressRefusal`, for an external IP of a Service: it must be in an allowed range, too. */
export function externalIpRefusal(
  at: string,
  value: Json | undefined,
  { denied, allowedExternal }: AddressSettings,
): string | null {
  const refusal = addressRefusal(at, value, denied)
  const address = typeof value === 'string' ? parseAddress(value) : null
  if (refusal !== null || typeof value !== 'string' || address === null) return refusal
  if (allowedExternal.some((cidr) => isWithin(address, cidr))) return null
  return `${at} ${value} is in no range that external IPs are allowed from`
}
