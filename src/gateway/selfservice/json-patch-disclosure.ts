// What the operations of a JSON patch meet (contract 12.4): an object, and what its client sees of it, which
// each operation changes alike. Judged on the object as it was before them all, a path would name another
// place as soon as one of them moved the entries of a list (threat X4).
import { CONFIGS, type Resource } from '../../api/names.ts'
import { type Json, type JsonMap, isList, isMap } from '../../domain/json/json.ts'
import { type FieldPath, nestedField } from '../../domain/json/nested-fields.ts'
import { pathText } from '../../domain/json/pointer.ts'
import { hiddenPlacesOf } from '../../domain/settings/walk.ts'
import { type Sides, filled, hiddenFields } from '../redaction/fields.ts'
import { SHOWS_NOTHING, redacted } from '../redaction/redact.ts'
import {
  type Draft,
  type Shape,
  type Step,
  draftOf,
  indexOf,
  isShape,
  pointed,
} from './json-patch-draft.ts'

/** What came of an operation: the value to send for it, or why the patch is refused. */
export type Taken =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly because: string }

/** An object that a patch changes, operation by operation. */
export interface Patching {
  /** Why a place must not be tested: something is hidden there, above or below it. null = it may. */
  readonly untestable: (path: FieldPath) => string | null
  /** Carries an operation out. The value holds what stood hidden in its place. */
  readonly take: (step: Step) => Taken
}

/** The patching of an object. */
export function patchingOf(resource: Resource, object: JsonMap): Patching {
  const current = draftOf(object)
  const shown = draftOf(redacted(resource, object, SHOWS_NOTHING))
  const compared = comparing((shape) => shown.isSettled(shape) && current.isSettled(shape))
  const isShown = (path: FieldPath): boolean => compared.isSame(shown.at(path), current.at(path))

  /** Where a value would put REDACTED in place of a value, or where people may take it for one. */
  const markIn = (value: Json, path: FieldPath, there: Sides['current']): FieldPath | undefined => {
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
      if (compared.isTired()) return TIRED
      if (isNearHidden(resource, path) || !isShown(path)) return 'it holds what is hidden'
      // The API server reads 01 and -1 as well: nobody needs them.
      const isOdd = current
        .holdersOf(path)
        .some((holder, place) => isList(holder) && indexOf(path[place] ?? '') === null)
      return isOdd ? ENTRIES : null
    },
    take: (step) => {
      const { op, path } = step
      if (compared.isTired()) return { ok: false, because: TIRED }
      const holder = path.slice(0, -1)
      // An entry that is added to a list takes nobody's place.
      const isAdded = op === 'add' && isList(current.at(holder))
      const sides = isAdded ? NOTHING : { shown: shown.at, current: current.at }
      const value = op === 'remove' ? null : filled(resource, sides, step.value, path)
      const mark = resource === CONFIGS ? markIn(value, path, sides.current) : undefined
      if (mark !== undefined) return { ok: false, because: placeText(mark) + NO_VALUE }
      const isInList = isList(shown.at(holder))
      if (!current.apply({ ...step, value })) return NO_PLACE
      // What a client doesn't see it may take away all the same. The entries of lists it sees all.
      if (!shown.apply(step) && isInList) return NO_PLACE
      return { ok: true, value }
    },
  }
}

const SETTINGS: ReadonlySet<string> = new Set(['spec', 'status'])
const NOTHING: Sides = { shown: () => undefined, current: () => undefined }

const ENTRIES = 'entries of lists are named by 0, 1 and so on, and one is added at the end by -'
const NO_PLACE = { ok: false, because: `nothing stands there by then; ${ENTRIES}` } as const

const TIRED = 'too much was changed before it: put tests first, or send fewer operations at a time'

const NO_VALUE =
  ' would be REDACTED, which stands for a hidden value and is none: send the value itself'

/** By name, whether something stands there or not. */
const isNearHidden = (resource: Resource, path: FieldPath): boolean =>
  hiddenFields(resource).some((hidden) =>
    hidden.every((name, place) => place >= path.length || path[place] === name),
  )

/** Places of REDACTED in what a value at a path says of spec and status. */
function marksIn(value: Json, path: FieldPath, current: Draft): readonly FieldPath[] {
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
    return hiddenPlacesOf(settings).map((place) => [
      ...path,
      ...[part, ...place].map(String).slice(path.length),
    ])
  })
}

const placeText = (path: FieldPath): string => pathText(path.map((part) => indexOf(part) ?? part))

// Whether what is shown of an object is what is there (contract 12.4), while a patch changes both.

/** Looks at what is shown and what is there. */
export interface Compared {
  readonly isSame: (shown: Json | undefined, current: Json | undefined) => boolean
  /** Whether it has looked at so much that it should not be asked any more. */
  readonly isTired: () => boolean
}

/** Entries of what was changed, which is looked at again for each test. Objects of ours have a few. */
const MOST_LOOKS = 100_000

/**
 * Compares what is shown with what is there. However often it is asked, every part that is settled, and so
 * stays as it is, is looked at once: nobody else is answered meanwhile.
 */
export function comparing(isSettled: (value: Shape) => boolean): Compared {
  const known = new Map<Shape, { readonly shown: Shape; readonly isSame: boolean }>()
  let looks = 0

  const isSame = (shown: Json | undefined, current: Json | undefined): boolean => {
    if (shown === current) return true
    if (!isShape(shown) || !isShape(current)) return false
    const found = known.get(current)
    if (found?.shown === shown) return found.isSame
    const same = areSame(shown, current)
    if (isSettled(shown) && isSettled(current)) known.set(current, { shown, isSame: same })
    else looks += Object.keys(current).length
    return same
  }

  const areSame = (shown: Shape, current: Shape): boolean => {
    if (isList(shown) !== isList(current)) return false
    // What is shown is made of what is there, with the names in the same order.
    const [seen, there] = [Object.entries(shown), Object.entries(current)]
    const isSameEntry = ([name, value]: Entry, place: number): boolean =>
      seen[place]?.[0] === name && isSame(seen[place][1], value)
    return seen.length === there.length && there.every(isSameEntry)
  }
  return { isSame, isTired: () => looks > MOST_LOOKS }
}

type Entry = readonly [name: string, value: Json]
