// The labels and annotations that flow back from the host object to the virtual object (contract 17.3).
import { nestedField, nestedMap, setNestedField } from '../../domain/json/field-path.ts'
import { isMap, type JsonMap, mapFromEntries } from '../../domain/json/json.ts'
import { crossings, type MetadataExchange, stringsIn } from '../objects/host-metadata.ts'

const FIELDS = ['labels', 'annotations'] as const

/**
 * The virtual object with the labels and annotations that changed on the host, under its own keys; the same object when
 * nothing flows back (contract 17.3). If a patch writes the whole map back, all keys
 * have the host's values: the patch would mistake the virtual object's values for the host's.
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
 * a patch of a whole map sets each key, and only the keys that changed on the host flow back.
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
