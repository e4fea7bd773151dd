// An object while the operations of a JSON patch change it, one after the other, as the API server does
// (RFC 6902): what a path means depends on what the operations before it did.
import { type Json, type JsonMap, isList, ownValue } from '../../domain/json/json.ts'
import type { FieldPath } from '../../domain/json/nested-fields.ts'

/** An operation that changes something. */
export interface Step {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: FieldPath
  /** Of `remove`: without meaning. */
  readonly value: Json
}

/** An object in the making. The object that it begins with stays as it is. */
export interface Draft {
  /** What stands at a place by now; undefined where nothing does, or where the path is no place. */
  readonly at: (path: FieldPath) => Json | undefined
  /** What holds each part of a path: one for each, undefined beyond where the path ends. */
  readonly holdersOf: (path: FieldPath) => readonly (Json | undefined)[]
  /** Carries out a step; false where it has no place. */
  readonly apply: (step: Step) => boolean
  /** Whether this map or list is never changed any more. */
  readonly isSettled: (value: Shape) => boolean
}

/** A map or a list. */
export type Shape = JsonMap | readonly Json[]
type Names = { [name: string]: Json }
type Changeable = Names | Json[]

/** Whether the value is a map or a list. */
export const isShape = (value: Json | undefined): value is Shape =>
  typeof value === 'object' && value !== null

/** The place in a list that part of a path names. Other spellings, and places from the end, are none. */
export const indexOf = (part: string): number | null =>
  /^(?:0|[1-9]\d{0,8})$/.test(part) ? Number(part) : null

/** A draft of an object. Each map and list is copied once, when it is first changed. */
export function draftOf(object: JsonMap): Draft {
  const copies = new Set<Shape>()
  let root: Json = object

  const copyOf = (value: Shape): Changeable => {
    if (copies.has(value)) return value as Changeable
    const copy = isList(value) ? [...value] : { ...value }
    copies.add(copy)
    return copy
  }

  /** The map or list that holds the last part of a path, ready to be changed. */
  const holderOf = (path: FieldPath): Changeable | null => {
    if (!isShape(root)) return null
    let found = copyOf(root)
    root = found
    for (const part of path.slice(0, -1)) {
      const inner = entryIn(found, part)
      if (!isShape(inner)) return null
      const copy = copyOf(inner)
      set(found, part, copy)
      found = copy
    }
    return found
  }

  return {
    at: (path) => pointed(root, path),
    holdersOf: (path) => {
      let holder: Json | undefined = root
      return path.map((part) => {
        const found = holder
        holder = isShape(found) ? entryIn(found, part) : undefined
        return found
      })
    },
    apply: (step) => {
      const last = step.path.at(-1)
      if (last === undefined) {
        const isWhole = step.op === 'replace' && isShape(step.value)
        if (isWhole) root = step.value
        return isWhole
      }
      const holder = holderOf(step.path)
      if (holder === null) return false
      return Array.isArray(holder) ? changeList(holder, last, step) : changeMap(holder, last, step)
    },
    isSettled: (value) => !copies.has(value),
  }
}

/** What stands at a place of a value, by names in maps and by indexes in lists. */
export const pointed = (value: Json, path: FieldPath): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, part) => (isShape(found) ? entryIn(found, part) : undefined),
    value,
  )

function entryIn(holder: Shape, part: string): Json | undefined {
  if (!isList(holder)) return ownValue(holder, part)
  const index = indexOf(part)
  return index === null ? undefined : holder[index]
}

/** As a property of the map itself, also where it is named `__proto__`. */
function set(holder: Changeable, part: string, value: Json): void {
  Object.defineProperty(holder, part, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

// The API server sets what it is to replace in a map, be it there or not.
function changeMap(map: Names, name: string, { op, value }: Step): boolean {
  if (op !== 'remove') set(map, name, value)
  else if (Object.hasOwn(map, name)) delete map[name]
  else return false
  return true
}

function changeList(list: Json[], part: string, { op, value }: Step): boolean {
  const index = op === 'add' && part === '-' ? list.length : indexOf(part)
  if (index === null || index > list.length - (op === 'add' ? 0 : 1)) return false
  list.splice(index, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
  return true
}
