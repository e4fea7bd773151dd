// What the syncer's own write changes of an object, whatever it writes (contract 19.7).
import {
  isEmptyMap,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
} from '../../domain/json/json.ts'
import { MARK_PREFIX } from './mark-keys.ts'

/** Metadata that the API server changes with each write. */
export const SERVER_SET_METADATA: readonly string[] = [
  'managedFields',
  'resourceVersion',
  'generation',
]

/** The annotation of a host object with the verdict that its patches do not settle, as `verdictOf` makes it. */
export const NOT_STABLE = `${MARK_PREFIX}patches-not-stable`

/** The object without its version and the verdict: what depends on them would change with each write. */
export function withoutVersion(object: JsonMap): JsonMap {
  const { metadata = null } = object
  if (!isMap(metadata)) return object
  const kept = Object.entries(metadata).flatMap(([name, value]) => {
    if (SERVER_SET_METADATA.includes(name)) return []
    return [[name, name === 'annotations' ? withoutVerdict(value) : value] as const]
  })
  return { ...object, metadata: mapFromEntries(kept) }
}

/** undefined = the verdict was the only annotation. */
function withoutVerdict(annotations: Json): Json | undefined {
  if (!isMap(annotations) || !Object.hasOwn(annotations, NOT_STABLE)) return annotations
  const kept = mapFromEntries(Object.entries(annotations).filter(([key]) => key !== NOT_STABLE))
  return isEmptyMap(kept) ? undefined : kept
}
