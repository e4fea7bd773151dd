// The whole objects in an answer, whatever its shape.
import { nestedField, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap } from '../../domain/json/json.ts'

/** Where an answer holds its objects: rows of a Table, or items of a List. */
export const placeOf = (answer: JsonMap): 'rows' | 'items' =>
  nestedString(answer, ['kind']) === 'Table' ? 'rows' : 'items'

/** The object of a Table's row; of a List the item is the object. */
function objectOf(entry: Json): JsonMap | null {
  const object = nestedField(entry, ['object'])
  if (isMap(object)) return object
  return isMap(entry) ? entry : null
}

/** The entries of a List or Table. */
export function entriesOf(answer: JsonMap): readonly Json[] {
  const entries = nestedField(answer, [placeOf(answer)])
  return isList(entries) ? entries : []
}

/** The one object that an answer is about: itself, or that of a Table's first row. */
export function objectIn(answer: JsonMap): JsonMap {
  const isTable = nestedString(answer, ['kind']) === 'Table'
  return (isTable ? objectsIn(answer)[0] : answer) ?? {}
}

/** The objects of a List or Table. */
export const objectsIn = (answer: JsonMap): readonly JsonMap[] =>
  entriesOf(answer)
    .map(objectOf)
    .filter((object) => object !== null)

/** The List or Table with those of its objects only. */
export function keeping(answer: JsonMap, isKept: (object: JsonMap) => boolean): JsonMap {
  const kept = entriesOf(answer).filter((entry) => {
    const object = objectOf(entry)
    return object !== null && isKept(object)
  })
  return setNestedField(answer, [placeOf(answer)], kept)
}

/** Pages of one List or Table as one. */
export function joined(first: JsonMap, others: readonly JsonMap[]): JsonMap {
  const { metadata = {} } = others.at(-1) ?? first
  return { ...first, metadata, [placeOf(first)]: [first, ...others].flatMap(entriesOf) }
}
