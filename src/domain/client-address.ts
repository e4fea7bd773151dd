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
  let address = plainAddress(peer)
  if (!isTrusted(address, trusted)) return address
  const entries = forwardedFor.flatMap((value) => value.split(',')).map((entry) => entry.trim())
  for (const entry of entries.toReversed()) {
    if (parseIpAddress(entry) === null) return address
    address = plainAddress(entry)
    if (!isTrusted(address, trusted)) return address
  }
  return address
}

/** The address of a peer without the form that Node gives IPv4 on a socket for both families, and nobody would search for. */
export const plainAddress = (text: string): string => text.replace(MAPPED, '')

const MAPPED = /^::ffff:(?=\d+\.)/i

function isTrusted(text: string, trusted: readonly Cidr[]): boolean {
  const address = parseIpAddress(text)
  return address !== null && trusted.some((range) => isWithin(unmapped(address), range))
}
