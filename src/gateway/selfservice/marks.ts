// Annotations and labels of the platform's own on keys and tokens (contract 12.1, 12.2).
import { ACCESS_KEYS, GROUP, MADE_WITH_LABEL, type Resource } from '../../api/names.ts'
import type { KeyRef } from '../../domain/accesskey/owner-chain.ts'
import { type Json, type JsonMap, mapOf, sameJson } from '../../domain/json/json.ts'
import {
  type FieldPath,
  nestedField,
  nestedMap,
  setNestedField,
} from '../../domain/json/nested-fields.ts'
import type { Fault } from './validation.ts'

const KINDS = ['annotations', 'labels'] as const

const isOurs = (name: string): boolean => name.startsWith(`${GROUP}/`)

/** Labels of what self-service makes with a key: by them all that a leaked one made is found. */
export const labelsOfMade = (
  resource: Resource,
  { uid }: KeyRef,
): Readonly<Record<string, string>> => (resource === ACCESS_KEYS ? { [MADE_WITH_LABEL]: uid } : {})

/** The first mark of the platform's that is not as it was, or on what is made other than it has to be. */
export function marksFault(
  resource: Resource,
  key: KeyRef,
  before: JsonMap | null,
  after: JsonMap,
): Fault | null {
  const made: JsonMap = { metadata: { labels: labelsOfMade(resource, key) } }
  for (const kind of KINDS) {
    const path = ['metadata', kind]
    const [was, is] = [nestedMap(before ?? made, path), nestedMap(after, path)]
    const changed = [...Object.keys(was), ...Object.keys(is)].find(
      (name) =>
        isOurs(name) &&
        !sameJson(nestedField(was, [name]) ?? null, nestedField(is, [name]) ?? null),
    )
    if (changed !== undefined)
      return {
        field: `metadata.${kind}[${changed}]`,
        because: `${kind} under ${GROUP}/ can not be changed on your own: leave them as they are`,
      }
  }
  return null
}

/** A manifest knows nothing of them: what is sent without one of them keeps it. */
export const withMarksOf = (current: JsonMap, sent: JsonMap): JsonMap =>
  KINDS.reduce((whole, kind) => keepingOurs(whole, current, ['metadata', kind]), sent)

function keepingOurs(sent: JsonMap, current: JsonMap, path: FieldPath): JsonMap {
  const ours = Object.entries(nestedMap(current, path)).filter(([name]) => isOurs(name))
  const all: readonly (readonly [string, Json])[] = [
    ...ours,
    ...Object.entries(nestedMap(sent, path)),
  ]
  return ours.length === 0 ? sent : setNestedField(sent, path, mapOf(all))
}
