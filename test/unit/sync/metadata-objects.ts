// Objects of the tests of metadata: a virtual object, its host object, and an exchange between them.
import { nestedMap } from '../../../src/domain/json/field-path.ts'
import { type JsonMap, mapFromEntries } from '../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../src/sync/objects/host-name.ts'
import {
  marksOf,
  type MetadataExchange,
  hostMetadata,
} from '../../../src/sync/objects/host-metadata.ts'
import type { MetadataField } from '../../../src/sync/objects/mark-keys.ts'

export const PREFIX = 'vcluster.platform.sh/'
export const FIELDS = ['labels', 'annotations'] as const
export const single: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
export const several: HostPlace = { ...single, namespaces: [['shop', 'our-shop']] }
export const owner = { apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'o1' }

export const virtualWith = (metadata: JsonMap): JsonMap => ({
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', ...metadata },
  subsets: [],
})

export const exchangeOf = (parts: Partial<MetadataExchange>): MetadataExchange => ({
  kind: 'Endpoints',
  place: single,
  virtual: virtualWith({}),
  host: null,
  written: null,
  owner: null,
  isPatched: () => false,
  isTakenWhole: () => false,
  ...parts,
})

/** A host object as the syncer made it from these labels and annotations. */
export const hostOf = (metadata: JsonMap, place: HostPlace = single): JsonMap => ({
  metadata: hostMetadata(exchangeOf({ virtual: virtualWith(metadata), place })),
})
export const metadataOf = (object: JsonMap | null): JsonMap => nestedMap(object ?? {}, ['metadata'])

/** The labels or annotations without the syncer's marks. */
export function unmarked(metadata: JsonMap, field: MetadataField): JsonMap {
  const marks = Object.keys(marksOf(virtualWith({ labels: { a: '' } }), 'Endpoints', single)[field])
  const known = new Set([...marks, `${PREFIX}managed-annotations`])
  return mapFromEntries(
    Object.entries(nestedMap(metadata, [field])).filter(([key]) => !known.has(key)),
  )
}
