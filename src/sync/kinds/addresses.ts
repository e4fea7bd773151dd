// IP addresses that objects of a virtual cluster may not name on the host (contract 18.2, 18.6).
import { addressFault, type Cidr, isWithin, parseIpAddress } from '../../domain/ip-address.ts'
import type { Json } from '../../domain/json/json.ts'

/** The ranges that the operator's flags name; parsed with `parseCidr`. */
export interface AddressSettings {
  /** Refused beside the ranges that always are (`--deny-cidr`). */
  readonly denied: readonly Cidr[]
  /** The external IPs that Services may have (`--allow-external-ip-cidr`); empty = none. */
  readonly allowedExternal: readonly Cidr[]
}

/**
 * Why the address may not stand at this place of a host object, as a sentence; null = it may. A value that is not an address is
 * refused, and not quoted: it can be anything.
 */
export function addressRefusal(
  at: string,
  value: Json | undefined,
  denied: readonly Cidr[],
): string | null {
  const address = typeof value === 'string' ? parseIpAddress(value) : null
  if (typeof value !== 'string' || address === null) return `${at} must be an IP address`
  const because = addressFault(address, { allowed: [], denied })
  return because === null ? null : `${at} ${value} ${because}`
}

/** As `addressRefusal`, for an external IP of a Service: it must be in an allowed range, too. */
export function externalIpRefusal(
  at: string,
  value: Json | undefined,
  { denied, allowedExternal }: AddressSettings,
): string | null {
  const refusal = addressRefusal(at, value, denied)
  const address = typeof value === 'string' ? parseIpAddress(value) : null
  if (refusal !== null || typeof value !== 'string' || address === null) return refusal
  if (allowedExternal.some((cidr) => isWithin(address, cidr))) return null
  return `${at} ${value} is in no range that external IPs are allowed from`
}
