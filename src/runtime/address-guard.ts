// Keeps connections from forbidden addresses (contract 9.5). A name is resolved for each connection, so each connection
// is checked on the addresses that it then uses.
import type { LookupAddress, LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { withoutBrackets } from '../domain/ip-address.ts'

/** Checks the addresses of a server. */
export interface AddressGuard {
  /**
   * Checks a host that is an address itself: Node resolves none, so `lookup` never sees it. Names pass.
   *
   * @param host as in a URL, with brackets around IPv6
   * @throws AddressRefused
   */
  readonly checkHost: (host: string) => void
  /** An option of node:net. Fails with AddressRefused if one of the addresses is refused, whichever would be used. */
  readonly lookup: LookupFunction
}

/** A connection would go to a refused address. Neither the message nor the fault quotes it. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'

  /** The fault of the address, such as `is a loopback address`. */
  readonly fault: string

  constructor(fault: string) {
    super(`the address of the server ${fault}`)
    this.fault = fault
  }
}

/** Resolves a name to all of its addresses, as dns.lookup of Node does. */
export type Resolve = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Creates a guard.
 *
 * @param faultOf why an address is refused, as in AddressRefused; null = it is not
 */
export function createAddressGuard(
  faultOf: (address: string) => string | null,
  resolve: Resolve,
): AddressGuard {
  const refusalOf = (address: string): AddressRefused | null => {
    const fault = faultOf(address)
    return fault === null ? null : new AddressRefused(fault)
  }
  return {
    checkHost: (host) => {
      const bare = withoutBrackets(host)
      const refusal = isIP(bare) === 0 ? null : refusalOf(bare)
      if (refusal) throw refusal
    },
    lookup: (name, options, callback) => {
      resolve(name, { ...options, all: true }, (error, addresses) => {
        const [first] = addresses ?? []
        const refusal = addresses?.map(({ address }) => refusalOf(address)).find(Boolean)
        const failure = error ?? refusal ?? (first ? null : new Error('the name has no address'))
        if (failure || !first) callback(failure, '')
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
    },
  }
}
