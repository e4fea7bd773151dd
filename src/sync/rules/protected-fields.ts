// The fields of an object that no patch moves (contract 19.6).
import { nestedField, setNestedField } from '../../domain/json/field-path.ts'
import { type JsonMap, isMap } from '../../domain/json/json.ts'
import { MARK_PREFIX } from './labels.ts'

/** Metadata that says which object it is, and what holds it. */
const METADATA = ['name', 'namespace', 'uid', 'ownerReferences', 'finalizers']

/** The patched object with the protected fields as they were: identity, owners, finalizers and the syncer's marks. */
export function withProtectedFields(patched: JsonMap, before: JsonMap): JsonMap {
  const withIdentity = ['apiVersion', 'kind'].reduce(
    (object, name) => setNestedField(object, [name], before[name]),
    patched,
  )
  const withMetadata = METADATA.reduce((object, name) => {
    const path = ['metadata', name]
    return setNestedField(object, path, nestedField(before, path))
  }, withIdentity)
  return ['labels', 'annotations'].reduce((object, name) => {
    const path = ['metadata', name]
    const [is, was] = [nestedField(object, path), nestedField(before, path)]
    const marks = [is, was].flatMap((map) => (isMap(map) ? Object.keys(map) : []))
    return [...new Set(marks.filter((key) => key.startsWith(MARK_PREFIX)))].reduce(
      (marked, key) => setNestedField(marked, [...path, key], nestedField(before, [...path, key])),
      object,
    )
  }, withMetadata)
}
