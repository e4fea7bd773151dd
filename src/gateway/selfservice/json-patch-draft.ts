// The operations of a JSON patch, applied to the stored object and to its redacted view alike (contract 12.4). Each
// is judged on the object as the operations before it leave it: an earlier one may move the entries of a list, and a
// path then names another place (threat X4).
import { CONFIGS, type Resource } from '../../api/names.ts'
import { type NamePath, nestedField, pathText } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../domain/json/json.ts'
import { redactedPathsOf } from '../../domain/settings/redaction.ts'
import { type Sides, filled, hiddenFields } from '../redaction/fields.ts'
import { SHOWS_NOTHING, redacted } from '../redaction/redact.ts'

/** An applied operation with the value to send for it, or the reason to refuse the patch. */
type Taken =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly because: string }

/** An object that a patch changes, operation by operation. */
interface Patching {
  /** Why a place must not be tested: something is hidden there, above or below it. null = it may. */
  readonly untestable: (path: NamePath) => string | null
  /** Carries an operation out. The value holds what stood hidden in its place. */
  readonly take: (step: DraftStep) => Taken
}

/** The patching of an object. */
export function patchingOf(resource: Resource, object: JsonMap): Patching {
  const current = draftOf(object)
  const shown = draftOf(redacted(resource, object, SHOWS_NOTHING))
  const compared = comparing((shape) => shown.isSettled(shape) && current.isSettled(shape))
  const isShown = (path: NamePath): boolean => compared.isSame(shown.at(path), current.at(path))

  /** Where a value would put REDACTED in place of a value, or where people may take it for one. */
  const markIn = (value: Json, path: NamePath, there: Sides['current']): NamePath | undefined => {
    const marks = marksIn(value, path, current).filter(
      (place) => there(place) !== pointed(value, place.slice(path.length)),
    )
    // Of a spec that hides nothing REDACTED is read by the operator (contract 6.3).
    const [first] = marks
    const inStatus = marks.find(([part]) => part === 'status')
    return inStatus ?? (first && !isShown(['spec']) ? first : undefined)
  }

  return {
    untestable: (path) => {
      if (compared.isExhausted()) return EXHAUSTED
      if (isNearHidden(resource, path) || !isShown(path)) return 'it holds a hidden field'
      // The API server also reads 01 and -1: refused, as no client needs them.
      const isOdd = current
        .holdersOf(path)
        .some((holder, place) => isList(holder) && indexOf(path[place] ?? '') === null)
      return isOdd ? ENTRIES : null
    },
    take: (step) => {
      const { op, path } = step
      if (compared.isExhausted()) return { ok: false, because: EXHAUSTED }
      const holder = path.slice(0, -1)
      // An entry that is added to a list replaces none.
      const isAdded = op === 'add' && isList(current.at(holder))
      const sides = isAdded ? NOTHING : { shown: shown.at, current: current.at }
      const value = op === 'remove' ? null : filled(resource, sides, step.value, path)
      const mark = resource === CONFIGS ? markIn(value, path, sides.current) : undefined
      if (mark !== undefined) return { ok: false, because: placeText(mark) + NO_VALUE }
      const isInList = isList(shown.at(holder))
      if (!current.apply({ ...step, value })) return NO_PLACE
      // A client may remove a field that it does not see. It sees all entries of lists.
      if (!shown.apply(step) && isInList) return NO_PLACE
      return { ok: true, value }
    },
  }
}

const SETTINGS: ReadonlySet<string> = new Set(['spec', 'status'])
const NOTHING: Sides = { shown: () => undefined, current: () => undefined }

const ENTRIES = 'entries of lists are named by 0, 1 and so on, and one is added at the end by -'
const NO_PLACE = {
  ok: false,
  because: `the path does not exist at that point of the patch; ${ENTRIES}`,
} as const

const EXHAUSTED =
  'too much was changed before it: put tests first, or send fewer operations at a time'

const NO_VALUE = ' would be REDACTED, the placeholder of a hidden value: send the value itself'

/** By name, whether something stands there or not. */
const isNearHidden = (resource: Resource, path: NamePath): boolean =>
  hiddenFields(resource).some((hidden) =>
    hidden.every((name, place) => place >= path.length || path[place] === name),
  )

/** Places of REDACTED in what a value at a path says of spec and status. */
function marksIn(value: Json, path: NamePath, current: Draft): readonly NamePath[] {
  if (path.length > 0 && !SETTINGS.has(path[0] ?? '')) return []
  // Entries on the way to the value stand alone in their lists here.
  const whole = current
    .holdersOf(path)
    .reduceRight<Json>(
      (inner, holder, place) => (isList(holder) ? [inner] : { [path[place] ?? '']: inner }),
      value,
    )
  return [...SETTINGS].flatMap((part) => {
    const settings = nestedField(whole, [part])
    if (!isMap(settings)) return []
    return redactedPathsOf(settings).map((place) => [
      ...path,
      ...[part, ...place].map(String).slice(path.length),
    ])
  })
}

const placeText = (path: NamePath): string => pathText(path.map((part) => indexOf(part) ?? part))

// The comparison of the redacted view with the object (contract 12.4), while a patch changes both.

/** A comparison that remembers. */
interface Compared {
  readonly isSame: (shown: Json | undefined, current: Json | undefined) => boolean
  /** Whether it has used up its budget of entries. */
  readonly isExhausted: () => boolean
}

/** Entries of changed parts, which are compared again for each test. Objects of our kinds have few. */
const MOST_LOOKS = 100_000

/**
 * Compares the redacted view with the object. Each settled part is compared once, however often it is asked for:
 * the comparison runs on the event loop of all requests.
 */
function comparing(isSettled: (value: Container) => boolean): Compared {
  const known = new Map<Container, { readonly shown: Container; readonly isSame: boolean }>()
  let looks = 0

  const isSame = (shown: Json | undefined, current: Json | undefined): boolean => {
    if (shown === current) return true
    if (!isContainer(shown) || !isContainer(current)) return false
    const found = known.get(current)
    if (found?.shown === shown) return found.isSame
    const same = areSame(shown, current)
    if (isSettled(shown) && isSettled(current)) known.set(current, { shown, isSame: same })
    else looks += Object.keys(current).length
    return same
  }

  const areSame = (shown: Container, current: Container): boolean => {
    if (isList(shown) !== isList(current)) return false
    // What is shown is made of what is there, with the names in the same order.
    const [seen, there] = [Object.entries(shown), Object.entries(current)]
    const isSameEntry = ([name, value]: Entry, place: number): boolean =>
      seen[place]?.[0] === name && isSame(seen[place][1], value)
    return seen.length === there.length && there.every(isSameEntry)
  }
  return { isSame, isExhausted: () => looks > MOST_LOOKS }
}

type Entry = readonly [name: string, value: Json]

// A draft of an object, which the operations of a JSON patch change one after the other, as the API server does
// (RFC 6902).

/** An operation that changes something. */
export interface DraftStep {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: NamePath
  /** Of `remove`: without meaning. */
  readonly value: Json
}

/** An object in the making. The object that it begins with stays as it is. */
interface Draft {
  /** What stands at a place by now; undefined where nothing does, or where the path is no place. */
  readonly at: (path: NamePath) => Json | undefined
  /** What holds each part of a path: one for each, undefined beyond where the path ends. */
  readonly holdersOf: (path: NamePath) => readonly (Json | undefined)[]
  /** Carries out a step; false where it has no place. */
  readonly apply: (step: DraftStep) => boolean
  /** Whether this map or list is never changed any more. */
  readonly isSettled: (value: Container) => boolean
}

/** A map or a list. */
type Container = JsonMap | readonly Json[]
type Names = { [name: string]: Json }
type Changeable = Names | Json[]

/** Whether the value is a map or a list. */
const isContainer = (value: Json | undefined): value is Container =>
  typeof value === 'object' && value !== null

/** The place in a list that part of a path names. Other spellings, and places from the end, are none. */
const indexOf = (part: string): number | null =>
  /^(?:0|[1-9]\d{0,8})$/.test(part) ? Number(part) : null

/** A draft of an object. Each map and list is copied once, when it is first changed. */
function draftOf(object: JsonMap): Draft {
  const copies = new Set<Container>()
  let root: Json = object

  const copyOf = (value: Container): Changeable => {
    if (copies.has(value)) return value as Changeable
    const copy = isList(value) ? [...value] : { ...value }
    copies.add(copy)
    return copy
  }

  /** The map or list that holds the last part of a path, ready to be changed. */
  const holderOf = (path: NamePath): Changeable | null => {
    if (!isContainer(root)) return null
    let found = copyOf(root)
    root = found
    for (const part of path.slice(0, -1)) {
      const inner = entryIn(found, part)
      if (!isContainer(inner)) return null
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
        holder = isContainer(found) ? entryIn(found, part) : undefined
        return found
      })
    },
    apply: (step) => {
      const last = step.path.at(-1)
      if (last === undefined) {
        const isWhole = step.op === 'replace' && isContainer(step.value)
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
const pointed = (value: Json, path: NamePath): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, part) => (isContainer(found) ? entryIn(found, part) : undefined),
    value,
  )

function entryIn(holder: Container, part: string): Json | undefined {
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
function changeMap(map: Names, name: string, { op, value }: DraftStep): boolean {
  if (op !== 'remove') set(map, name, value)
  else if (Object.hasOwn(map, name)) delete map[name]
  else return false
  return true
}

function changeList(list: Json[], part: string, { op, value }: DraftStep): boolean {
  const index = op === 'add' && part === '-' ? list.length : indexOf(part)
  if (index === null || index > list.length - (op === 'add' ? 0 : 1)) return false
  list.splice(index, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
  return true
}
