// The fields that the type of a Service allows: the API server refuses the others.
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { isList, isMap, type JsonMap, mapFromEntries, ownValue } from '../../domain/json/json.ts'

/** The spec of a Service; empty where it has none. */
export const specOf = (service: JsonMap): JsonMap => nestedMap(service, ['spec'])

/** The type in a Service's spec; empty where none is given, which is ClusterIP. */
export const typeOf = (spec: JsonMap): string => nestedString(spec, ['type'])

/** Whether the type has cluster IPs; a headless Service has `None`. */
export const hasClusterIp = (spec: JsonMap): boolean => typeOf(spec) !== 'ExternalName'

/** Whether the type has node ports. */
export const hasNodePorts = (spec: JsonMap): boolean =>
  ['NodePort', 'LoadBalancer'].includes(typeOf(spec))

/** Whether a load balancer asks a port of the node if it is healthy. */
export const hasHealthCheck = (spec: JsonMap): boolean =>
  typeOf(spec) === 'LoadBalancer' && nestedString(spec, ['externalTrafficPolicy']) === 'Local'

/** The API server keeps the address of a load balancer in other types, too. */
const BALANCER_FIELDS = [
  'allocateLoadBalancerNodePorts',
  'loadBalancerClass',
  'loadBalancerIP',
  'loadBalancerSourceRanges',
]

/**
 * The spec without the fields that its type does not allow. They remain when a patch has changed the type or external IPs
 * were refused; some of them the API server ignores.
 */
export function withoutUnusedFields(spec: JsonMap): JsonMap {
  const hasExternalIps = isList(ownValue(spec, 'externalIPs'))
  const unused = [
    ...(hasClusterIp(spec)
      ? ['externalName']
      : ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']),
    ...(hasNodePorts(spec) || hasExternalIps ? [] : ['externalTrafficPolicy']),
    ...(hasHealthCheck(spec) ? [] : ['healthCheckNodePort']),
    ...(typeOf(spec) === 'LoadBalancer' ? [] : BALANCER_FIELDS),
  ]
  const used = withoutNames(spec, unused)
  return hasNodePorts(used) ? used : withoutNodePorts(used, () => true)
}

/** The spec without the node ports for which the test holds, by the index of the port. */
export function withoutNodePorts(spec: JsonMap, isDropped: (at: number) => boolean): JsonMap {
  const ports = ownValue(spec, 'ports')
  if (!isList(ports)) return spec
  const kept = ports.map((port, at) =>
    isMap(port) && isDropped(at) ? withoutNames(port, ['nodePort']) : port,
  )
  return { ...spec, ports: kept }
}

/** The map without these entries. */
export const withoutNames = (map: JsonMap, names: readonly string[]): JsonMap =>
  mapFromEntries(Object.entries(map).filter(([name]) => !names.includes(name)))
