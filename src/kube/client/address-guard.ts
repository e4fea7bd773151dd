// Keeps connections from addresses that nobody may lead this process to (contract 9.5): a name is resolved for each
// connection, and so checked for each, on the addresses that the connection then uses.
import type { LookupAddress, LookupOptions } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'

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

/** A connection would go to a refused address. The message does not quote it. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'

  /** @param fault the fault of the address, such as `is a loopback address` */
  constructor(fault: string) {
    super(`the address of the API server ${fault}`)
  }
}

/** Resolves a name to all of its addresses, as dns.lookup of Node does. */
type Resolve = (
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
      const bare = host.replace(/^\[|\]$/g, '')
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
