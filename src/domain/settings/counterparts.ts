// A list replaces the Secret's (contract 6.2). Where it was copied from status, its hidden values are those of
// the Secret's entries that stand for the same (6.3).
import { type Json, type JsonMap, isList, isMap, mapOf, ownValue, sameJson } from '../json/json.ts'
import type { SettingPath } from '../json/pointer.ts'
import { hide } from './walk.ts'

/** By which of its fields an entry of a list is found again, the first that finds one. */
const IDENTITIES = ['id', 'name', 'clientId'] as const

/**
 * What the Secret says at the places of these settings, in their shape: the value at `path` of the result
 * is that of the Secret for the value at `path` of the settings. Entries of lists are found by id, else by
 * name, else by clientId, where one alone has it; a list that is the Secret's as status shows it is found
 * entry by entry. null and absent: the Secret says nothing there.
 */
export const counterparts = (settings: JsonMap, secret: JsonMap): JsonMap =>
  ofMap(settings, { value: secret, shown: hide(secret) })

/** The value at the path; undefined where there is none. */
export function valueAt(settings: JsonMap, path: SettingPath): Json | undefined {
  return path.reduce<Json | undefined>((value, step) => {
    if (isList(value)) return value[Number(step)]
    return isMap(value) ? ownValue(value, String(step)) : undefined
  }, settings)
}

/** A part of the Secret, and how status shows it. */
interface Theirs<Value extends Json = Json> {
  readonly value: Value | undefined
  readonly shown: Value | undefined
}

function of(mine: Json, { value, shown }: Theirs): Json | undefined {
  if (isMap(mine)) return isMap(value) && isMap(shown) ? ofMap(mine, { value, shown }) : undefined
  if (isList(mine)) return isList(value) && isList(shown) ? ofList(mine, value, shown) : undefined
  return isMap(value) || isList(value) ? undefined : value
}

function ofMap(mine: JsonMap, { value = {}, shown = {} }: Theirs<JsonMap>): JsonMap {
  return mapOf(
    Object.entries(mine).map(([name, inner]) => [
      name,
      of(inner, { value: ownValue(value, name), shown: ownValue(shown, name) }),
    ]),
  )
}

function ofList(
  mine: readonly Json[],
  value: readonly Json[],
  shown: readonly Json[],
): readonly Json[] {
  if (sameJson(mine, shown)) return value
  const placeOf = placesIn(value)
  return mine.map((entry) => {
    const at = placeOf(entry)
    return at === undefined ? null : (of(entry, { value: value[at], shown: shown[at] }) ?? null)
  })
}

/** Finds the place of the entry that stands for the same. */
function placesIn(entries: readonly Json[]): (entry: Json) => number | undefined {
  const byIdentity = IDENTITIES.map((name) => [name, placesBy(name, entries)] as const)
  return (entry) => {
    const found = byIdentity.map(([name, places]) => places.get(identityBy(name, entry)))
    return found.find((at) => at !== undefined && at !== SEVERAL)
  }
}

const SEVERAL = -1

function placesBy(name: string, entries: readonly Json[]): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>()
  for (const [at, entry] of entries.entries()) {
    const identity = identityBy(name, entry)
    if (identity !== undefined) places.set(identity, places.has(identity) ? SEVERAL : at)
  }
  return places
}

function identityBy(name: string, entry: Json): string | undefined {
  const identity = isMap(entry) ? ownValue(entry, name) : undefined
  return typeof identity === 'string' ? identity : undefined
}
