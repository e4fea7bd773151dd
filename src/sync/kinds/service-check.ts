// What a tenant must not reach by a Service on the host (contract 18.6).
import { nestedField, setNestedField } from '../../domain/json/field-path.ts'
import { isList, type Json, type JsonMap, ownValue } from '../../domain/json/json.ts'
import { hostDns, parseServiceDns } from '../objects/host-name.ts'
import { type AddressSettings, externalIpRefusal } from './addresses.ts'
import { externalNameFault } from './external-name.ts'
import { specOf, typeOf, withoutUnusedFields } from './service-type.ts'
import type { CheckedObject, TranslationContext } from './translator.ts'

const FOREIGN_NAME =
  'spec.externalName must name a synced Service of this virtual cluster, or nothing within a cluster'

/**
 * The patched Service with its external name translated, and without refused external IPs and load balancer's address;
 * a refused name refuses it all.
 */
export function checkedService(
  service: JsonMap,
  settings: AddressSettings,
  context: TranslationContext,
): CheckedObject {
  const used = { ...service, spec: withoutUnusedFields(specOf(service)) }
  const named = withHostExternalName(used, context)
  if (!named.ok) return { object: null, refusals: [named.refusal] }
  const addresses = withAllowedExternalIps(named.service, settings)
  const balancer = withAllowedBalancerIp(addresses.allowed, settings)
  const { allowed } = balancer
  return {
    // Without external IPs another field may be of no use.
    object: { ...allowed, spec: withoutUnusedFields(specOf(allowed)) },
    refusals: [...addresses.refusals, ...balancer.refusals],
  }
}

type NamedService =
  | { readonly ok: true; readonly service: JsonMap }
  | { readonly ok: false; readonly refusal: string }

/** Other types do not use the name. A patch has seen it as the virtual Service has it. */
function withHostExternalName(service: JsonMap, context: TranslationContext): NamedService {
  const spec = specOf(service)
  if (typeOf(spec) !== 'ExternalName') return { ok: true, service }
  const given = ownValue(spec, 'externalName')
  if (typeof given !== 'string') return { ok: false, refusal: FOREIGN_NAME }
  const fault = externalNameFault(given.toLowerCase())
  if (fault !== null) return { ok: false, refusal: `spec.externalName ${fault}` }
  const name = hostExternalName(given, context)
  if (name === null) return { ok: false, refusal: FOREIGN_NAME }
  const isSame = name === given
  return {
    ok: true,
    service: isSame ? service : setNestedField(service, ['spec', 'externalName'], name),
  }
}

/**
 * The name on the host; null = refused. A Service of the virtual cluster gets its host name, whatever the cluster
 * domain; a name that a patch has translated stays. Any other name within a cluster could be another tenant's.
 */
function hostExternalName(name: string, context: TranslationContext): string | null {
  // DNS knows no upper case.
  const lower = name.toLowerCase()
  if (!isClusterName(lower)) return name
  const dns = parseServiceDns(lower)
  if (dns === null) return null
  const service = { name: dns.name, namespace: dns.namespace }
  if (context.hasService(service)) return hostDns(lower, context.place)
  return context.ownsHostService(service) ? name : null
}

/** Whether the name is below `<namespace>.svc`: the name of a Service, or of one of its Pods or ports. */
const isClusterName = (name: string): boolean => name.split('.').includes('svc', 2)

/** The Service without the address of its load balancer where that is refused. */
function withAllowedBalancerIp(
  service: JsonMap,
  settings: AddressSettings,
): { readonly allowed: JsonMap; readonly refusals: readonly string[] } {
  const path = ['spec', 'loadBalancerIP']
  const given = nestedField(service, path) ?? ''
  const refusal = given === '' ? null : externalIpRefusal(path.join('.'), given, settings)
  if (refusal === null) return { allowed: service, refusals: [] }
  return { allowed: setNestedField(service, path, undefined), refusals: [refusal] }
}

/** The Service without the addresses that are refused, and without the field where none is left. */
function withAllowedExternalIps(
  service: JsonMap,
  settings: AddressSettings,
): { readonly allowed: JsonMap; readonly refusals: readonly string[] } {
  const path = ['spec', 'externalIPs']
  const at = path.join('.')
  const given = nestedField(service, path) ?? []
  const withList = (list: readonly Json[]): JsonMap =>
    setNestedField(service, path, list.length === 0 ? undefined : list)
  if (!isList(given)) return { allowed: withList([]), refusals: [`${at} must be a list`] }
  const checked = given.map((address, index) => ({
    address,
    refusal: externalIpRefusal(`${at}[${index}]`, address, settings),
  }))
  const allowed = checked.flatMap(({ address, refusal }) => (refusal === null ? [address] : []))
  return {
    allowed: withList(allowed),
    refusals: checked.flatMap(({ refusal }) => refusal ?? []),
  }
}
