// IP addresses and ranges, and the addresses that no setting may point this program or a host object at (contract 9.5,
// 18.2).

/** An IP address as a number, and its length: 32 bits in IPv4, 128 in IPv6. */
interface IpAddress {
  readonly bits: 32 | 128
  readonly value: bigint
}

/** A range: the addresses of one length that have the first `prefix` bits in common. */
export interface Cidr extends IpAddress {
  /** As it was given, for messages. */
  readonly text: string
  readonly prefix: number
}

/** Ranges that flags name; parsed with `parseCidr`. */
export interface AddressRanges {
  /** Addresses that are not refused for being special, such as loopback ones. */
  readonly allowed: readonly Cidr[]
  /** Addresses that are refused in any case. */
  readonly denied: readonly Cidr[]
}

/** The host of a URL as sockets take it: an IPv6 address without its brackets. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')

const CIDR = /^([^/]+)\/(0|[1-9]\d{0,2})$/

/**
 * The range of a text such as `10.0.0.0/8` or `fd00::/8`; null for any other text, also with bits set after the prefix:
 * it may be a slip. IPv4-mapped IPv6 ranges count as IPv4.
 */
export function parseCidr(text: string): Cidr | null {
  const [, base = '', length = ''] = CIDR.exec(text) ?? []
  const address = parseIpAddress(base)
  const prefix = Number(length)
  if (address === null || prefix > address.bits) return null
  const { bits, value } = address
  const free = BigInt(bits - prefix)
  if ((value >> free) << free !== value) return null
  if (!isWithin(address, MAPPED)) return { text, bits, value, prefix }
  return { text, ...lowIPv4(value), prefix: prefix - MAPPED.prefix }
}

/** Four numbers without leading zeros, which some read as octal ones. */
const IPV4 = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/
/** The characters of an IPv6 address without a zone: the API server accepts no address with one. */
const IPV6_CHARACTERS = /^(?=.*:)[0-9A-Fa-f:.]{2,45}$/

/** The address in a text; null for any other text, and for an address with an IPv6 zone. */
export function parseIpAddress(text: string): IpAddress | null {
  if (IPV4.test(text)) return ipv4Of(text.split('.').map(Number))
  // URLs have one spelling of each address: groups of hexadecimal digits, also where the text ends in IPv4.
  const url = IPV6_CHARACTERS.test(text) ? URL.parse(`http://[${text}]`) : null
  if (url === null) return null
  const [head = '', tail = ''] = url.hostname.slice(1, -1).split('::')
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0n)
  return { bits: 128, value: fromDigits([...first, ...zeros, ...last], 16n) }
}

const ipv4Of = (octets: readonly number[]): IpAddress | null =>
  octets.every((octet) => octet <= 255)
    ? { bits: 32, value: fromDigits(octets.map(BigInt), 8n) }
    : null

const groupsOf = (part: string): readonly bigint[] =>
  part === '' ? [] : part.split(':').map((group) => BigInt(`0x${group}`))

const fromDigits = (digits: readonly bigint[], bitsEach: bigint): bigint =>
  digits.reduce((value, digit) => (value << bitsEach) | digit, 0n)

/** Whether the address is in the range; an IPv4-mapped address is not in an IPv4 range. */
export const isWithin = ({ bits, value }: IpAddress, cidr: Cidr): boolean => {
  const free = BigInt(cidr.bits - cidr.prefix)
  return bits === cidr.bits && value >> free === cidr.value >> free
}

const lowIPv4 = (value: bigint): IpAddress => ({ bits: 32, value: BigInt.asUintN(32, value) })

/** A range for the tables below; bits after the prefix may be set. */
function range(base: string, prefix: number): Cidr {
  const address = parseIpAddress(base)
  if (address === null) throw new Error(`${base} is not an IP address`)
  return { ...address, prefix, text: `${base}/${prefix}` }
}

/** IPv4-mapped addresses: a connection to one goes to the IPv4 address. */
const MAPPED = range('::ffff:0:0', 96)

/**
 * Other IPv6 ranges whose addresses stand for an IPv4 address, and how many bits follow it: a translator or a tunnel on
 * the way may turn them into IPv4. Prefixes that a network chose itself for NAT64 are for flags that deny.
 */
const EMBEDDING: readonly (readonly [range: Cidr, bitsAfter: bigint])[] = [
  // IPv4-compatible addresses, IPv4-translated ones, NAT64 (RFC 6052, RFC 8215), and 6to4.
  [range('::', 96), 0n],
  [range('::ffff:0:0:0', 96), 0n],
  [range('64:ff9b::', 96), 0n],
  [range('64:ff9b:1::', 48), 0n],
  [range('2002::', 16), 80n],
]

/** The ranges that are refused unless a flag allows them, the narrowest first. */
const REFUSED: readonly (readonly [range: Cidr, what: string])[] = [
  ...['169.254.169.254', '100.100.100.200', '168.63.129.16'].map(
    (base) => [range(base, 32), 'a metadata address'] as const,
  ),
  [range('192.0.0.0', 24), 'a metadata address'],
  [range('fd20:ce::254', 128), 'a metadata address'],
  [range('fd00:ec2::', 32), 'a metadata address'],
  [range('255.255.255.255', 32), 'the broadcast address'],
  [range('::1', 128), 'a loopback address'],
  [range('127.0.0.0', 8), 'a loopback address'],
  // Linux connects to itself where the address is 0.0.0.0, for which `::` stands; others of the range name no host.
  [range('0.0.0.0', 8), 'an unspecified address'],
  [range('169.254.0.0', 16), 'a link-local address'],
  [range('fe80::', 10), 'a link-local address'],
  [range('224.0.0.0', 4), 'a multicast address'],
  [range('ff00::', 8), 'a multicast address'],
]

/**
 * Why an address is refused, as a clause such as `is a loopback address`; null = it is not. It is refused for itself or
 * for the IPv4 address that it stands for, and so it is allowed.
 */
export function addressFault(
  address: IpAddress,
  { allowed, denied }: AddressRanges,
): string | null {
  const meant = meaningsOf(address)
  const isMeant = (cidr: Cidr): boolean => meant.some((one) => isWithin(one, cidr))
  const what = REFUSED.find(([cidr]) => isMeant(cidr))?.[1]
  if (what !== undefined && !allowed.some(isMeant)) return `is ${what}`
  const found = denied.find(isMeant)
  return found ? `is in the denied range ${found.text}` : null
}

/** The IPv4 address of an IPv4-mapped one, however that is written; another address as it is. */
export const unmapped = (address: IpAddress): IpAddress =>
  isWithin(address, MAPPED) ? lowIPv4(address.value) : address

/** The address, unless it is another spelling of an IPv4 address, and the IPv4 address that it stands for. */
export function meaningsOf(address: IpAddress): readonly IpAddress[] {
  if (isWithin(address, MAPPED)) return [unmapped(address)]
  const embedded = EMBEDDING.filter(([cidr]) => isWithin(address, cidr))
  return [address, ...embedded.map(([, bitsAfter]) => lowIPv4(address.value >> bitsAfter))]
}
