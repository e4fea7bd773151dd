// The address of a client behind trusted proxies (contract 21.3).
import { type Cidr, isWithin, parseIpAddress, unmapped } from './ip-address.ts'

/**
 * The address of the client: the rightmost entry of `X-Forwarded-For` and peer that is no trusted proxy. An entry that is
 * no address ends the search at its right; where all are trusted, the leftmost one is the client.
 *
 * @param peer address of the connection's peer
 * @param forwardedFor the values of the header as they were sent, in their order
 * @param trusted the trusted proxies
 */
export function clientAddress(
  peer: string,
  forwardedFor: readonly string[],
  trusted: readonly Cidr[],
): string {
  if (!isTrusted(peer, trusted)) return peer
  const entries = forwardedFor.flatMap((value) => value.split(',')).map((entry) => entry.trim())
  let address = peer
  for (const entry of entries.toReversed()) {
    if (parseIpAddress(entry) === null) return address
    address = entry
    if (!isTrusted(entry, trusted)) return address
  }
  return address
}

function isTrusted(text: string, trusted: readonly Cidr[]): boolean {
  const address = parseIpAddress(text)
  // On a socket for both families, Node gives the IPv4 address of a peer as an IPv4-mapped one.
  return address !== null && trusted.some((range) => isWithin(unmapped(address), range))
}
