// Where an address is, seen from this process, and which addresses a setting's host opens (contract 25.6).
import {
  addressFault,
  type Cidr,
  isWithin,
  meaningsOf,
  parseCidr,
  parseIpAddress,
} from './ip-address.ts'
import { LOOPBACK } from './settings/store-endpoint.ts'

/** Where an address is: on this machine, in a network of its own, or anywhere. */
export type AddressClass = 'loopback' | 'private' | 'public'

const cidrs = (...texts: readonly string[]): readonly Cidr[] =>
  texts.map(parseCidr).filter((cidr) => cidr !== null)

/** RFC 1918, carriers' addresses (RFC 6598), test networks (RFC 2544), unique and site-local addresses of IPv6. */
const PRIVATE = cidrs(
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '198.18.0.0/15',
  'fc00::/7',
  'fec0::/10',
)

/** The class of an address, for itself or for the IPv4 address that it stands for; null = the text has another form. */
export function addressClass(text: string): AddressClass | null {
  const address = parseIpAddress(text)
  if (address === null) return null
  const isIn = (range: readonly Cidr[]): boolean =>
    meaningsOf(address).some((meant) => range.some((cidr) => isWithin(meant, cidr)))
  if (isIn(LOOPBACK)) return 'loopback'
  return isIn(PRIVATE) ? 'private' : 'public'
}

/**
 * Why an address is not connected to, as a clause such as `is a link-local address`; null = it may be.
 *
 * @param open the classes that are allowed; link-local, unspecified, multicast and metadata addresses never are
 */
export function reachFault(text: string, open: ReadonlySet<AddressClass>): string | null {
  const address = parseIpAddress(text)
  const found = addressClass(text)
  if (address === null || found === null) return 'is malformed, or has a zone'
  const fault = addressFault(address, { allowed: LOOPBACK, denied: [] })
  return fault ?? (open.has(found) ? null : `is a ${found} address`)
}
