// What a change puts into one place of an object, whatever stands there.
import type { Json } from '../../domain/json/json.ts'
import { type FieldPath, at, textAt } from '../../domain/json/nested-fields.ts'
import { restOf } from './hidden.ts'
import { pathIn } from './json-patch.ts'
import type { Change } from './sent-change.ts'

/** The texts that a change sets in that place; one that is taken again later is among them. */
export const broughtAt = (change: Change, path: FieldPath): readonly string[] =>
  (change.by === 'json'
    ? change.sent.map((operation) => broughtBy(operation, path))
    : [at(change.sent, path)]
  ).filter((value) => typeof value === 'string')

function broughtBy(operation: Json, path: FieldPath): Json | undefined {
  const place = pathIn(operation)
  if (typeof place === 'string' || !SETS.has(textAt(operation, ['op']))) return undefined
  const rest = restOf(path, place)
  return rest === null ? undefined : at(at(operation, ['value']), rest)
}

/** Operations of a JSON patch that set what they hold. */
const SETS: ReadonlySet<string> = new Set(['add', 'replace'])
