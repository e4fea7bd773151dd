// Layers of settings. Maps merge, lists and single values replace (contract 6.2), so a value has
// one source: the highest layer that says anything at its place.

import type { FieldPath } from '../json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isEmptyMap,
  isMap,
  mapFromEntries,
  ownValue,
  sameJson,
} from '../json/json.ts'
import type { SettingSource } from './validation/faults.ts'

/** Settings of one source. */
export interface SettingsLayer {
  readonly source: SettingSource
  readonly settings: JsonMap
}

/** The settings that these maps say together; the first one wins. */
export const mergeSettings = (...maps: readonly JsonMap[]): JsonMap => maps.reduceRight(over, {})

function over(below: JsonMap, above: JsonMap): JsonMap {
  const names = new Set([...Object.keys(below), ...Object.keys(above)])
  return mapFromEntries(
    [...names].map((name) => [name, laid(ownValue(above, name), ownValue(below, name))]),
  )
}

function laid(above: Json | undefined, below: Json | undefined): Json | undefined {
  if (isMap(above) && isMap(below)) return over(below, above)
  return above ?? below
}

/**
 * The source that the value at the path came from. Where nothing stands there, the source of the
 * nearest place above it that has a value; undefined when no layer has any.
 */
export function sourceOfPath(
  layers: readonly SettingsLayer[],
  path: FieldPath,
): SettingSource | undefined {
  const found = layers.find(({ settings }) => speaksAt(settings, path))
  if (found || path.length === 0) return found?.source
  return sourceOfPath(layers, path.slice(0, -1))
}

// A list or single value on the way replaces whatever lower layers hold below it.
function speaksAt(settings: JsonMap, path: FieldPath): boolean {
  let value: Json | undefined = settings
  for (const step of path) {
    if (!isMap(value)) return true
    value = ownValue(value, String(step))
    if (value === undefined) return false
  }
  return !(isMap(value) && isEmptyMap(value))
}

/** The settings without every value at whose place `taken` has one, whatever it is. */
export const withoutPathsOf = (settings: JsonMap, taken: JsonMap): JsonMap =>
  keep(settings, taken, () => false)

/** The settings without every value that stands in `others` just as it is. */
export const withoutEqualValues = (settings: JsonMap, others: JsonMap): JsonMap =>
  keep(settings, others, (mine, theirs) => !sameJson(mine, theirs))

type Stays = (mine: Json, theirs: Json) => boolean

function keep(map: JsonMap, others: JsonMap, stays: Stays): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, mine]): [string, Json | undefined] => {
      const theirs = ownValue(others, name)
      if (theirs === undefined) return [name, mine]
      if (!isMap(mine) || !isMap(theirs)) return [name, stays(mine, theirs) ? mine : undefined]
      const rest = keep(mine, theirs, stays)
      return [name, isEmptyMap(rest) ? undefined : rest]
    }),
  )
}
