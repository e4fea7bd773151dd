// Metadata of an object on both sides: names, owners, and labels and annotations that cross (contract 17.3, 17.4).
import type { OwnerReference } from '../../api/objects.ts'
import {
  type FieldPath,
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, type JsonMap, mapFromEntries } from '../../domain/json/json.ts'
import { type HostPlace, hostNameOf } from '../objects/host-name.ts'
import {
  hasCurrentRules,
  MARK_KEYS,
  MARK_PREFIX,
  type MetadataField,
  managedKeys,
  marksOf,
  stringsIn,
} from '../objects/ownership-marks.ts'
import { hostKeyOf } from '../objects/selectors.ts'

/** The `metadata` of both objects at the syncer's last write of either; only labels and annotations are read. */
export interface WrittenMetadata {
  readonly virtual: JsonMap
  readonly host: JsonMap
}

/** An object on both sides, and the syncer's last write. */
export interface MetadataExchange {
  readonly kind: string
  readonly place: HostPlace
  /** The whole object. */
  readonly virtual: JsonMap
  /** The whole object, one of this virtual cluster's; null = it does not exist. */
  readonly host: JsonMap | null
  /** null = this process has not written the object: the virtual side wins. */
  readonly written: WrittenMetadata | null
  /** The virtual cluster's own Service; null = host objects have no owner. Not used in multi-namespace mode. */
  readonly owner: OwnerReference | null
  /**
   * Whether a patch touches the field, or a map that holds it: then it flows back only by its own reverse. The path is
   * that of the host object, such as `['metadata', 'labels', 'app']`.
   */
  readonly isPatched: (path: FieldPath) => boolean
  /** Whether a patch takes the map back as a whole, from the host's values to those of the virtual object. */
  readonly isTakenWhole: (field: MetadataField) => boolean
}

/**
 * The whole metadata of the host object before patches. An existing object keeps what only the host has: its own
 * fields, owners, labels and annotations (contract 17.3, 17.4).
 */
export function hostMetadata(exchange: MetadataExchange): JsonMap {
  const { virtual, kind, place } = exchange
  const metadata = hostMetadataOf(exchange)
  const name = nestedString(virtual, ['metadata', 'name'])
  const namespace = nestedString(virtual, ['metadata', 'namespace'])
  const marks = marksOf(virtual, kind, place)
  const owners = ownerReferences(metadata, exchange)
  const whole: JsonMap = {
    ...metadata,
    ...hostNameOf({ name, namespace }, place),
    labels: { ...hostStrings('labels', exchange), ...marks.labels },
    annotations: { ...hostStrings('annotations', exchange), ...marks.annotations },
  }
  return setNestedField(whole, ['ownerReferences'], owners.length === 0 ? undefined : owners)
}

const FIELDS = ['labels', 'annotations'] as const

/**
 * The virtual object with the labels and annotations that changed on the host, under its own keys; the same object when
 * nothing flows back (contract 17.3). A map that is taken whole has the host's values in all keys then: the patch would
 * take those of the virtual object for the host's.
 */
export const withHostMetadata = (exchange: MetadataExchange): JsonMap =>
  FIELDS.reduce((object, field) => {
    const entries = crossings(field, exchange)
    const flowing = entries.flatMap(({ key, flowsBack }) =>
      flowsBack === null ? [] : [[key, flowsBack] as const],
    )
    if (flowing.length === 0) return object
    if (!exchange.isTakenWhole(field))
      return flowing.reduce(
        (changed, [key, value]) => setNestedField(changed, ['metadata', field, key], value),
        object,
      )
    const onHost = entries.flatMap(({ key, hostValue }) =>
      hostValue === null ? [] : [[key, hostValue] as const],
    )
    return setNestedField(object, ['metadata', field], mapFromEntries(onHost))
  }, exchange.virtual)

/**
 * The object of withHostMetadata after its patches, with the virtual object's own values in the keys that do not flow:
 * a patch that takes a map whole says something about each key, and only those that changed on the host flow.
 */
export const withOwnMetadata = (patched: JsonMap, exchange: MetadataExchange): JsonMap =>
  FIELDS.reduce((object, field) => {
    const map = nestedField(object, ['metadata', field]) ?? {}
    if (!exchange.isTakenWhole(field) || !isMap(map)) return object
    const entries = crossings(field, exchange).filter(({ flowsBack }) => flowsBack !== null)
    const flowing = new Set(entries.map(({ key }) => key))
    if (flowing.size === 0) return object
    const own = [...stringsIn(nestedMap(exchange.virtual, ['metadata']), field)]
    return own
      .filter(([key]) => !flowing.has(key))
      .reduce((kept, [key, value]) => setNestedField(kept, ['metadata', field, key], value), object)
  }, patched)

/** The labels or annotations of the host object without marks. */
function hostStrings(field: MetadataField, exchange: MetadataExchange): JsonMap {
  const metadata = hostMetadataOf(exchange)
  // A key that is here and not in the virtual object was removed there.
  const fromVirtual = new Set(
    managedKeys(metadata, field).flatMap((key) => [
      hostKeyOf(field, key, exchange.kind, exchange.place),
      ...(crossedByOldRules(key, metadata) ? [key] : []),
    ]),
  )
  const hostOnly = [...stringsIn(metadata, field)].filter(
    ([key]) => !fromVirtual.has(key) && !MARK_KEYS[field].has(key),
  )
  const crossed = crossings(field, exchange).map(
    (entry) => [entry.hostKey, entry.flowsBack ?? entry.value] as const,
  )
  return mapFromEntries([...hostOnly, ...crossed])
}

/** Whether a key of the virtual object can stand on the host only because an older syncer let it cross. */
const crossedByOldRules = (key: string, onHost: JsonMap): boolean =>
  !hasCurrentRules(onHost) && !key.startsWith(MARK_PREFIX)

/** A label or annotation of the virtual object that the host object gets. */
interface CrossingEntry {
  readonly key: string
  readonly hostKey: string
  /** The virtual object's value. */
  readonly value: string
  /** null = the host object does not have the key. */
  readonly hostValue: string | null
  /** The host's value in place of it; null = the virtual object's stands. */
  readonly flowsBack: string | null
}

function crossings(field: MetadataField, exchange: MetadataExchange): readonly CrossingEntry[] {
  const { virtual, kind, written, place, isPatched } = exchange
  const onHost = stringsIn(hostMetadataOf(exchange), field)
  const wasVirtual = stringsIn(written?.virtual ?? {}, field)
  const wasOnHost = stringsIn(written?.host ?? {}, field)
  return [...stringsIn(nestedMap(virtual, ['metadata']), field)].flatMap(([key, value]) => {
    const crossed = hostKeyOf(field, key, kind, place)
    if (crossed === null) return []
    const hostValue = onHost.get(crossed) ?? null
    const hasHostChange =
      hostValue !== null &&
      hostValue !== value &&
      value === wasVirtual.get(key) &&
      hostValue !== wasOnHost.get(crossed)
    const flowsBack = hasHostChange && !isPatched(['metadata', field, crossed]) ? hostValue : null
    return [{ key, hostKey: crossed, value, hostValue, flowsBack }]
  })
}

/** References of others as they are, and to the virtual cluster's own Service, which may have been created anew. */
function ownerReferences(metadata: JsonMap, { owner, place }: MetadataExchange): readonly Json[] {
  const references = nestedField(metadata, ['ownerReferences'])
  const existing = isList(references) ? references.filter(isMap) : []
  // A reference to another namespace makes the garbage collector delete the object (contract 17.5).
  if (owner === null || place.namespaces !== null) return existing
  const { apiVersion, kind, name, uid } = owner
  const others = existing.filter(
    (one) => one['apiVersion'] !== apiVersion || one['kind'] !== kind || one['name'] !== name,
  )
  return [...others, { apiVersion, kind, name, uid, controller: false }]
}

const hostMetadataOf = ({ host }: MetadataExchange): JsonMap => nestedMap(host ?? {}, ['metadata'])
