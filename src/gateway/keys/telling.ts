// Whether a `test` of a JSON patch would tell anything of what is hidden (contract 12.4).
import type { Resource } from '../../api/group.ts'
import { isList, isMap, type Json, type JsonMap } from '../../domain/config/json.ts'
import { at, type FieldPath } from './at.ts'
import { hiddenFields } from './hidden.ts'
import { redacted, SHOWS_NOTHING } from './redact.ts'

/** Whether a test of a place in this object would: something is hidden there, above or below it. */
export function telling(resource: Resource, current: JsonMap): (path: FieldPath) => boolean {
  const shown = redacted(resource, current, SHOWS_NOTHING)
  const isShown = comparing()
  return (path) => {
    // From the end of a list: the API server counts so, and nobody needs it.
    if (path.some((part) => /^-\d+$/.test(part))) return true
    const isNear = hiddenFields(resource).some((hidden) =>
      hidden.every((name, place) => place >= path.length || path[place] === name),
    )
    return isNear || !isShown(pointed(shown, path), pointed(current, path))
  }
}

const pointed = (value: Json, path: FieldPath): Json | undefined =>
  path.reduce<Json | undefined>((found, part) => {
    if (isList(found)) return found[Number(part)]
    return isMap(found) ? at(found, [part]) : undefined
  }, value)

/**
 * Whether what is shown is what is there. However many tests a patch has, every part of the object is looked
 * at once: nobody else is answered meanwhile.
 */
function comparing(): (shown: Json | undefined, current: Json | undefined) => boolean {
  const known = new Map<Shape, boolean>()
  const isSame = (shown: Json | undefined, current: Json | undefined): boolean => {
    if (shown === current) return true
    if (!isShape(shown) || !isShape(current)) return false
    const found = known.get(current) ?? areSame(shown, current)
    known.set(current, found)
    return found
  }
  const areSame = (shown: Shape, current: Shape): boolean => {
    if (isList(shown) !== isList(current)) return false
    // What is shown is made of what is there, with the names in the same order.
    const [seen, there] = [Object.entries(shown), Object.entries(current)]
    const isSameEntry = ([name, value]: Entry, place: number): boolean =>
      seen[place]?.[0] === name && isSame(seen[place][1], value)
    return seen.length === there.length && there.every(isSameEntry)
  }
  return isSame
}

type Shape = JsonMap | readonly Json[]
type Entry = readonly [name: string, value: Json]

const isShape = (value: Json | undefined): value is Shape => isMap(value) || isList(value)
