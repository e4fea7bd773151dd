// Services on the host (contract 18.4 to 18.6), in a form that the API server accepts.
import {
  type FieldPath,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import {
  isEmptyMap,
  isList,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
  ownValue,
  sameJson,
} from '../../domain/json/json.ts'
import type { StatusError } from '../../kube/client/api-error.ts'
import { hostMatchLabels } from '../objects/selectors.ts'
import { isKubernetesService, type KindScope } from './scope.ts'
import { checkedService } from './service-check.ts'
import { pairedNodePorts, portsOf } from './service-ports.ts'
import {
  hasClusterIp,
  hasHealthCheck,
  hasNodePorts,
  specOf,
  typeOf,
  withoutNames,
  withoutNodePorts,
} from './service-type.ts'
import type { KindTranslator, TranslationContext } from './translator.ts'

const HEALTH_PORT = 'healthCheckNodePort'

/** A 422 names the field of a wrong port. A port in use is a 500 with nothing but a message, which must not be parsed. */
const refusesHealthPort = ({ code, message }: StatusError): boolean =>
  code === 500 || (code === 422 && message.includes(HEALTH_PORT))

/** The cluster IP of a headless Service. */
const HEADLESS = 'None'

/**
 * The host assigns cluster IPs and node ports, unless a patch acts on the virtual Service's: then its result is requested.
 * Node ports and the status of the load balancer flow back. A health check port that the host refuses is left to the host.
 */
export const servicesTranslator: KindTranslator = {
  toHost: (virtual, context) => {
    const spec = hostSpec(virtual, context)
    return withoutNames({ ...virtual, spec }, ['status'])
  },
  check: checkedService,
  withHostValues: (desired, host) => {
    const spec = specWithHostValues(specOf(desired), specOf(host))
    return mapFromEntries([
      ...Object.entries(desired),
      ['spec', spec],
      ['status', ownValue(host, 'status')],
    ])
  },
  needsRecreation: (desired, host) => {
    const [wanted, existing] = [specOf(desired), specOf(host)]
    if (!hasClusterIp(wanted) || !hasClusterIp(existing)) return false
    return !canShareClusterIp(wanted, existing) || !canShareBalancerClass(wanted, existing)
  },
  createInstead: (desired, error) => {
    const spec = specOf(desired)
    if (!refusesHealthPort(error) || !Object.hasOwn(spec, HEALTH_PORT)) return null
    return { ...desired, spec: withoutNames(spec, [HEALTH_PORT]) }
  },
  toVirtual: (virtual, host) => withHostStatus(withHostNodePorts(virtual, host), host),
}

/** All Services are synced. */
export const servicesScope: KindScope = {
  isReserved: isKubernetesService,
  isWanted: () => true,
  isLeftover: () => false,
  follows: 'externalNames',
}

// From virtual to host.

function hostSpec(virtual: JsonMap, context: TranslationContext): JsonMap {
  const spec = specOf(virtual)
  const isAskedFor = (path: FieldPath): boolean => context.patchKindAt(['spec', ...path]) !== null
  const isHeadless = ownValue(spec, 'clusterIP') === HEADLESS
  const cleared = [
    ...(isHeadless || isAskedFor(['clusterIP']) ? [] : ['clusterIP']),
    // The API server derives it from clusterIP.
    ...(isAskedFor(['clusterIPs']) ? [] : ['clusterIPs']),
    ...(isAskedFor(['ipFamilies']) || sendsIpFamilies(spec, context) ? [] : ['ipFamilies']),
  ]
  return mapFromEntries([
    ...Object.entries(
      withoutNodePorts(withoutNames(spec, cleared), (at) => !isAskedFor(['ports', at, 'nodePort'])),
    ),
    ['selector', selectorOnHost(virtual, context)],
  ])
}

/** A host with one family refuses two, even if the policy accepts one; and a default family may not be one of the host's. */
const sendsIpFamilies = (spec: JsonMap, { choosesIpFamilies }: TranslationContext): boolean =>
  choosesIpFamilies && nestedString(spec, ['ipFamilyPolicy']) !== 'PreferDualStack'

/** In multi-namespace mode labels have the same keys on the host. A selector without keys selects nothing. */
function selectorOnHost(
  virtual: JsonMap,
  { place, patchKindAt }: TranslationContext,
): Json | undefined {
  const selector = ownValue(specOf(virtual), 'selector')
  const isPatched = patchKindAt(['spec', 'selector']) === 'labels'
  if (place.namespaces !== null || isPatched || !isMap(selector) || isEmptyMap(selector))
    return selector
  const namespace = nestedString(virtual, ['metadata', 'namespace'])
  return hostMatchLabels(selector, { virtualCluster: place.virtualCluster, namespace })
}

// What an existing host Service keeps.

/** Cluster IPs change with the type ExternalName only; all else that the API server hands out stays while it is used. */
function specWithHostValues(desired: JsonMap, host: JsonMap): JsonMap {
  const own = withoutNames(desired, ['healthCheckNodePort'])
  // The virtual Service's ipFamilyPolicy decides whether the host's Service gains or loses its second family.
  const families = sharesClusterIp(desired, host) ? ['clusterIP', 'clusterIPs', 'ipFamilies'] : []
  const absent = [
    ...(families.length > 0 ? ['ipFamilyPolicy'] : []),
    ...(typeOf(desired) === typeOf(host) ? ['loadBalancerClass'] : []),
  ].filter((name) => !Object.hasOwn(own, name))
  const health = hasHealthCheck(desired) ? ['healthCheckNodePort'] : []
  return mapFromEntries([
    ...Object.entries(own),
    ['ports', portsWithHostNodePorts(desired, host)],
    ...[...families, ...absent, ...health].map((name) => [name, ownValue(host, name)] as const),
  ])
}

const sharesClusterIp = (desired: JsonMap, host: JsonMap): boolean =>
  hasClusterIp(desired) && canShareClusterIp(desired, host)

/** A Service whose type needs a cluster IP cannot get another one, nor become headless or cease to be. */
function canShareClusterIp(desired: JsonMap, host: JsonMap): boolean {
  const wanted = nestedString(desired, ['clusterIP'])
  const existing = nestedString(host, ['clusterIP'])
  return wanted === '' ? existing !== HEADLESS : wanted === existing
}

/** The class of a load balancer is immutable. Without one the host's stays: something on the host may have set it. */
function canShareBalancerClass(desired: JsonMap, host: JsonMap): boolean {
  const wanted = nestedString(desired, ['loadBalancerClass'])
  if (typeOf(desired) !== 'LoadBalancer' || typeOf(host) !== 'LoadBalancer') return true
  return wanted === '' || wanted === nestedString(host, ['loadBalancerClass'])
}

/** The ports with the host's node ports where a patch has asked for none. */
function portsWithHostNodePorts(desired: JsonMap, host: JsonMap): Json | undefined {
  const given = ownValue(desired, 'ports')
  if (!isList(given) || !hasNodePorts(desired)) return given
  const numbers = pairedNodePorts(portsOf(desired), portsOf(host))
  return given.map((port, at) => {
    const number = numbers[at] ?? null
    const keepsHost = isMap(port) && number !== null && !Object.hasOwn(port, 'nodePort')
    return keepsHost ? { ...port, nodePort: number } : port
  })
}

// From host to virtual.

function withHostNodePorts(virtual: JsonMap, host: JsonMap): JsonMap {
  const spec = specOf(virtual)
  const given = ownValue(spec, 'ports')
  if (!isList(given) || !hasNodePorts(spec)) return virtual
  const numbers = pairedNodePorts(portsOf(spec), portsOf(specOf(host)))
  const ports = given.map((port, at) => {
    const number = numbers[at] ?? null
    const isNew = isMap(port) && number !== null && ownValue(port, 'nodePort') !== number
    return isNew ? setNestedField(port, ['nodePort'], number) : port
  })
  return ports.every((port, at) => port === given[at])
    ? virtual
    : setNestedField(virtual, ['spec', 'ports'], ports)
}

/** The API server refuses a load balancer's addresses in the status of another type. */
function withHostStatus(virtual: JsonMap, host: JsonMap): JsonMap {
  if (typeOf(specOf(virtual)) !== 'LoadBalancer') return virtual
  const path = ['status', 'loadBalancer']
  const status = nestedMap(host, path)
  return sameJson(status, nestedMap(virtual, path))
    ? virtual
    : setNestedField(virtual, path, status)
}
