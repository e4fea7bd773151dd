// Names that an ExternalName Service may stand for on the host (contract 18.6).
import { parseIpAddress } from '../../domain/ip-address.ts'

/** Names that resolvers take for the machine itself, of themselves or by the file that systems ship. */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set([
  'localhost.localdomain',
  'localhost4',
  'localhost4.localdomain4',
  'localhost6',
  'localhost6.localdomain6',
  'ip6-localhost',
  'ip6-loopback',
])

/**
 * Why the name may stand for nothing on a host, as a clause; null = it may, unless it names a Service of the cluster. It
 * has lower case letters, with or without a dot at the end.
 */
export function externalNameFault(name: string): string | null {
  const whole = name.replace(/\.$/, '')
  const labels = whole.split('.')
  const last = labels.at(-1) ?? ''
  if (last === 'localhost' || LOOPBACK_NAMES.has(whole)) return 'is the machine itself'
  // Resolvers read octal, hexadecimal and shortened forms; no top-level domain is a number.
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(last) || parseIpAddress(whole) !== null)
    return 'is an IP address, not a name'
  return isPodName(labels) ? 'is the address of a Pod, written as a name' : null
}

/** `<address with dashes>.<namespace>.pod`, with or without a domain: DNS servers of clusters answer it with the address. */
function isPodName([address = '', , pod]: readonly string[]): boolean {
  const spellings = ['.', ':'].map((separator) => address.replaceAll('-', separator))
  return pod === 'pod' && spellings.some((one) => parseIpAddress(one) !== null)
}
