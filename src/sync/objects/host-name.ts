// Names of a virtual cluster's objects on its host (contract 17.1, 19.4).
import { createHash } from 'node:crypto'
import { isDnsLabel } from '../../domain/dns-name.ts'

/** The virtual cluster, and where its objects stand on the host. */
export interface HostPlace {
  readonly virtualCluster: string
  /** The one namespace of all its objects, unless each virtual namespace has its own. */
  readonly hostNamespace: string
  /** null = single-namespace mode. */
  readonly namespaces: NamespaceMappings | null
}

/** Host namespaces of multi-namespace mode by virtual namespace, or by a pattern with one `*` (contract 17.5). */
export type NamespaceMappings = readonly (readonly [virtual: string, host: string])[]

/** A namespaced name in the virtual cluster. */
export interface VirtualName {
  readonly name: string
  readonly namespace: string
}

/** The longest name that is kept as it is: the longest name of a Service. */
const LONGEST = 63
const KEPT = 52
const DIGEST_DIGITS = 10

/** The name and namespace of an object on the host. */
export const hostNameOf = ({ name, namespace }: VirtualName, place: HostPlace): VirtualName =>
  place.namespaces === null
    ? {
        name: shortened(`${name}-x-${namespace}-x-${place.virtualCluster}`),
        namespace: place.hostNamespace,
      }
    : { name, namespace: mappedNamespace(namespace, place.namespaces, place.virtualCluster) }

/** The host object that is imported under this name: one of that very name in the virtual cluster's own host namespace (19.5). */
export const importSourceOf = (name: VirtualName, place: HostPlace): VirtualName =>
  place.namespaces === null
    ? { name: name.name, namespace: place.hostNamespace }
    : hostNameOf(name, place)

/** By an exact name, else by the longest pattern that fits, else by a name that the syncer makes. */
function mappedNamespace(
  namespace: string,
  mappings: NamespaceMappings,
  virtualCluster: string,
): string {
  const exact = mappings.find(([virtual]) => virtual === namespace)
  if (exact) return exact[1]
  const fitting = mappings.flatMap(([virtual, host]) => {
    const [start = '', end] = virtual.split('*')
    if (end === undefined || namespace.length < start.length + end.length) return []
    if (!namespace.startsWith(start) || !namespace.endsWith(end)) return []
    const middle = namespace.slice(start.length, namespace.length - end.length)
    return [{ length: virtual.length, host: host.replace('*', () => middle) }]
  })
  const [longest] = fitting.toSorted((a, b) => b.length - a.length)
  return longest?.host ?? shortened(`${virtualCluster}-x-${namespace}`)
}

/** The name as it is where a Service may have it, else cut and with a digest of the whole. */
function shortened(full: string): string {
  if (full.length <= LONGEST) return full
  return `${full.slice(0, KEPT)}-${shortDigest(full)}`.replaceAll('.-', '-')
}

/** The first hexadecimal digits of a text's SHA-256, for names. */
export const shortDigest = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, DIGEST_DIGITS)

const LONGEST_DNS = 253

/** A Service in the DNS of its cluster. */
interface ServiceDns extends VirtualName {
  /** The labels of the cluster domain; none = the name has no domain. */
  readonly domain: readonly string[]
}

/** The Service that a DNS name `<name>.<namespace>.svc[.<cluster domain>]` names; null = the name has another form. */
export function parseServiceDns(dns: string): ServiceDns | null {
  const [name = '', namespace = '', svc, ...domain] = dns.replace(/\.$/, '').split('.')
  const labels = [name, namespace, ...domain]
  if (dns.length > LONGEST_DNS || svc !== 'svc' || !labels.every(isDnsLabel)) return null
  return { name, namespace, domain }
}

/**
 * The host's DNS name of a Service of the virtual cluster: `<host name>.<host namespace>.svc.<domain>`, with the
 * domain as given, or `cluster.local`. The Service need not exist.
 *
 * @throws Error for a name that is not `<name>.<namespace>.svc`, with or without a cluster domain
 */
export function hostDns(virtualDns: string, place: HostPlace): string {
  const service = parseServiceDns(virtualDns)
  if (service === null)
    throw new Error('virtualToHostDNS takes <name>.<namespace>.svc[.<cluster domain>]')
  const { domain } = service
  const host = hostNameOf(service, place)
  return `${host.name}.${host.namespace}.svc.${domain.length === 0 ? 'cluster.local' : domain.join('.')}`
}

/** The name in a key of objectKey. No namespace has a slash: the name begins after the first one. */
export function virtualNameOf(key: string): VirtualName {
  const at = key.indexOf('/')
  return { name: key.slice(at + 1), namespace: key.slice(0, at) }
}
