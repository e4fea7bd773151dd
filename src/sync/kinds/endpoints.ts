// Endpoints on the host (contract 18.2).
import {
  type FieldPath,
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, type JsonMap, ownValue } from '../../domain/json/json.ts'
import { hostNameOf } from '../objects/host-name.ts'
import { hasSelector, isTerminating } from '../objects/synced-object.ts'
import { type AddressSettings, addressRefusal } from './addresses.ts'
import { isKubernetesService, type KindScope } from './scope.ts'
import type { CheckedObject, KindTranslator, TranslationContext } from './translator.ts'

/** The lists of addresses in a subset. */
const ADDRESS_LISTS = ['addresses', 'notReadyAddresses']

/** Subsets go one way, with the names that Pods have on the host; nothing flows back. */
export const endpointsTranslator: KindTranslator = {
  toHost: (virtual, context) => {
    const namespace = nestedString(virtual, ['metadata', 'namespace'])
    return withItems(virtual, 'subsets', (subset, at) =>
      ADDRESS_LISTS.reduce(
        (current, list) =>
          withItems(current, list, (address, index) =>
            hostAddress(address, ['subsets', at, list, index], namespace, context),
          ),
        subset,
      ),
    )
  },
  check: (object, settings) => checkedAddresses(object, settings),
  withHostValues: (desired) => desired,
  needsRecreation: () => false,
  createInstead: () => null,
  toVirtual: (virtual) => virtual,
}

/** The map with each object of one of its lists changed; the same map if it has no such list. */
function withItems(
  map: JsonMap,
  name: string,
  change: (item: JsonMap, index: number) => JsonMap,
): JsonMap {
  const list = ownValue(map, name)
  if (!isList(list)) return map
  const changed = list.map((item, index) => (isMap(item) ? change(item, index) : item))
  return setNestedField(map, [name], changed)
}

/** The address with the name that its Pod has on the host. The host's Pod has another uid. */
function hostAddress(
  address: JsonMap,
  path: FieldPath,
  ownNamespace: string,
  { place, patchKindAt }: TranslationContext,
): JsonMap {
  const target = ownValue(address, 'targetRef') ?? null
  if (!isMap(target) || ownValue(target, 'kind') !== 'Pod') return address
  const given = nestedString(target, ['namespace'])
  const name = nestedString(target, ['name'])
  const host = hostNameOf({ name, namespace: given === '' ? ownNamespace : given }, place)
  const isReferred = (field: string): boolean =>
    patchKindAt([...path, 'targetRef', field]) === 'reference'
  const fields: readonly (readonly [string, Json | undefined])[] = [
    ['name', name === '' || isReferred('name') ? ownValue(target, 'name') : host.name],
    ['namespace', isReferred('namespace') ? ownValue(target, 'namespace') : host.namespace],
    ['uid', undefined],
    ['resourceVersion', undefined],
  ]
  return fields.reduce(
    (changed, [field, value]) => setNestedField(changed, ['targetRef', field], value),
    address,
  )
}

/** A single refused address refuses the whole object: the rest would be Endpoints that no user wrote. */
function checkedAddresses(object: JsonMap, { denied }: AddressSettings): CheckedObject {
  const [subsets, faults] = listAt(object, 'subsets', 'subsets')
  const refusals = subsets.flatMap((subset, at) => {
    if (!isMap(subset)) return [`subsets[${at}] must be an object`]
    return ADDRESS_LISTS.flatMap((list) => {
      const where = `subsets[${at}].${list}`
      const [addresses, listFaults] = listAt(subset, list, where)
      const refused = addresses.flatMap(
        (address, index) =>
          addressRefusal(`${where}[${index}].ip`, nestedField(address, ['ip']), denied) ?? [],
      )
      return [...listFaults, ...refused]
    })
  })
  const all = [...faults, ...refusals]
  return { object: all.length === 0 ? object : null, refusals: all }
}

/** The list of that name; empty if there is none, with a refusal if the value is not a list. */
function listAt(
  map: JsonMap,
  name: string,
  where: string,
): readonly [items: readonly Json[], refusals: readonly string[]] {
  const list = ownValue(map, name) ?? []
  return isList(list) ? [list, []] : [[], [`${where} must be a list`]]
}

/** How the endpoints controller marks its objects: by the label since Kubernetes 1.33, by the annotation before. */
const CONTROLLER_LABEL = ['labels', 'endpoints.kubernetes.io/managed-by']
const CONTROLLER_ANNOTATION = ['annotations', 'endpoints.kubernetes.io/last-change-trigger-time']

/** Whether the endpoints controller made these Endpoints, for a Service with a selector. */
export const isMadeByEndpointsController = (metadata: JsonMap): boolean =>
  nestedString(metadata, CONTROLLER_LABEL) === 'endpoint-controller' ||
  nestedField(metadata, CONTROLLER_ANNOTATION) !== undefined

/** Endpoints are synced where no controller makes them: with a Service that has no selector (contract 18.1). */
export const endpointsScope: KindScope = {
  isReserved: isKubernetesService,
  isWanted: (virtual, { virtualService }) => {
    const service = virtualService(virtual)
    return service !== null && !isTerminating(service) && !hasSelector(service)
  },
  isLeftover: (host, { ownHostService }) => {
    const service = ownHostService(host)
    const metadata = nestedMap(host.object, ['metadata'])
    return service !== null && !hasSelector(service) && isMadeByEndpointsController(metadata)
  },
  follows: 'services',
}
