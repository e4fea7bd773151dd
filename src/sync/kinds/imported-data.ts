// The fields of a host object that are imported, for each kind (contract 19.5): its data, without values of the host.
import { nestedString } from '../../domain/json/field-path.ts'
import {
  isList,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
  ownValue,
} from '../../domain/json/json.ts'
import type { SyncedKind } from '../objects/synced-kinds.ts'
import { OPAQUE, SERVICE_ACCOUNT_TOKEN } from './secrets.ts'
import { hasClusterIp, specOf, withoutNames, withoutUnusedFields } from './service-type.ts'

/** The fields of an object that an import has; a copy whose fields differ from its host object's was changed. */
export const importedData = (kind: SyncedKind, object: JsonMap): JsonMap => DATA[kind](object)

/** The copy with these data, and with what its own cluster has given it. */
export function withImportedData(kind: SyncedKind, copy: JsonMap, data: JsonMap): JsonMap {
  if (kind !== 'services') return { ...withoutNames(copy, NAMES[kind]), ...data }
  const before = specOf(copy)
  const isHeadless = isHeadlessSpec(before)
  const given = withoutNames(before, [
    ...SERVICE_FIELDS,
    'type',
    ...(isHeadless && !isHeadlessSpec(specOf(data)) ? ['clusterIP', 'clusterIPs'] : []),
  ])
  return { ...copy, spec: withoutUnusedFields({ ...given, ...specOf(data) }) }
}

const pick = (map: JsonMap, names: readonly string[]): JsonMap =>
  mapFromEntries(names.map((name) => [name, ownValue(map, name)]))

const NAMES = {
  endpoints: ['subsets'],
  secrets: ['data', 'type', 'immutable'],
  configMaps: ['data', 'binaryData', 'immutable'],
} as const

const DATA: Readonly<Record<SyncedKind, (object: JsonMap) => JsonMap>> = {
  endpoints: (object) =>
    mapFromEntries([['subsets', nonEmpty(listOf(object, 'subsets').map(importedSubset))]]),
  services: (object) => ({ spec: importedSpec(specOf(object)) }),
  // The virtual cluster's token controller would delete a token of a ServiceAccount that it does not have.
  secrets: (object) => {
    const data = pick(object, NAMES.secrets)
    const isToken = nestedString(data, ['type']) === SERVICE_ACCOUNT_TOKEN
    return isToken ? { ...data, type: OPAQUE } : data
  },
  configMaps: (object) => pick(object, NAMES.configMaps),
}

const listOf = (map: JsonMap, name: string): readonly JsonMap[] => {
  const list = ownValue(map, name)
  return isList(list) ? list.filter(isMap) : []
}

/** The API server leaves empty lists out. */
const nonEmpty = (list: readonly JsonMap[]): readonly JsonMap[] | undefined =>
  list.length === 0 ? undefined : list

/** The addresses and ports, without the Pods and nodes of the host. */
const importedSubset = (subset: JsonMap): JsonMap =>
  mapFromEntries([
    ...['addresses', 'notReadyAddresses'].map((name) => {
      const addresses = listOf(subset, name).map((one) => pick(one, ['ip', 'hostname']))
      return [name, nonEmpty(addresses)] as const
    }),
    ['ports', ownValue(subset, 'ports')],
  ])

/** The cluster IP of a headless Service. */
const HEADLESS = 'None'

const isHeadlessSpec = (spec: JsonMap): boolean => ownValue(spec, 'clusterIP') === HEADLESS

/** Fields of a Service that its owner chose, and that mean the same in another cluster. */
const SERVICE_FIELDS = [
  'externalName',
  'internalTrafficPolicy',
  'ports',
  'publishNotReadyAddresses',
  'sessionAffinity',
  'sessionAffinityConfig',
]

/** A Service that takes nothing of the virtual cluster but a name and an IP: it selects nothing and opens no port of a node. */
function importedSpec(spec: JsonMap): JsonMap {
  const ports: Json | undefined = Object.hasOwn(spec, 'ports')
    ? listOf(spec, 'ports').map((port) =>
        pick(port, ['name', 'protocol', 'port', 'targetPort', 'appProtocol']),
      )
    : undefined
  return mapFromEntries([
    ...Object.entries(pick(spec, SERVICE_FIELDS)),
    ['ports', ports],
    ['type', hasClusterIp(spec) ? 'ClusterIP' : 'ExternalName'],
    ['clusterIP', isHeadlessSpec(spec) ? HEADLESS : undefined],
  ])
}
