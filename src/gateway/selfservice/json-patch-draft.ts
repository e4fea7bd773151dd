// Applies the operations of a JSON patch to the stored object and to its redacted view (contract 12.4). Each operation
// is checked on the object as the operations before it leave it: an earlier one may move list entries, so that a path
// names another entry.
import { CONFIGS, type Resource } from '../../api/names.ts'
import { type NamePath, nestedField, pathText } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../domain/json/json.ts'
import { redactedPathsOf } from '../../domain/settings/redaction.ts'
import { type Sides, withHiddenFieldsAt, hiddenFields } from '../../domain/redaction/fields.ts'
import { SHOWS_NOTHING, redacted } from '../../domain/redaction/redact.ts'

/** The value to send for an applied operation, or the reason to refuse the patch. */
type AppliedStep =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly because: string }

/** An object to which a patch is applied, operation by operation. */
interface JsonPatching {
  /** Why a `test` of the path is refused, such as a hidden field at, above or below the path; null = it may be sent. */
  readonly untestable: (path: NamePath) => string | null
  /** Applies an operation. The value to send includes the hidden fields of what the operation replaces. */
  readonly apply: (step: DraftStep) => AppliedStep
}

/** Prepares an object for a patch. */
export function patchingOf(resource: Resource, object: JsonMap): JsonPatching {
  const current = draftOf(object)
  const shown = draftOf(redacted(resource, object, SHOWS_NOTHING))
  const comparison = createComparison((shape) => shown.isSettled(shape) && current.isSettled(shape))
  const isShown = (path: NamePath): boolean => comparison.isSame(shown.at(path), current.at(path))

  /**
   * The path at which a value would store REDACTED in place of a real value, or where readers may take it for a hidden
   * one; undefined = none.
   */
  const misplacedRedacted = (
    value: Json,
    path: NamePath,
    stored: Sides['current'],
  ): NamePath | undefined => {
    const paths = redactedPathsIn(value, path, current).filter(
      (place) => stored(place) !== valueAt(value, place.slice(path.length)),
    )
    // In a spec that hides nothing, REDACTED is left to the operator, which never takes it for a value (contract 6.3).
    const [first] = paths
    const inStatus = paths.find(([part]) => part === 'status')
    return inStatus ?? (first && !isShown(['spec']) ? first : undefined)
  }

  return {
    untestable: (path) => {
      if (comparison.isExhausted()) return EXHAUSTED
      if (isNearHidden(resource, path) || !isShown(path)) return 'it holds a hidden field'
      // The API server also accepts the indexes 01 and -1; they are refused, as no client needs them.
      const hasOddIndex = current
        .holdersOf(path)
        .some((holder, place) => isList(holder) && indexOf(path[place] ?? '') === null)
      return hasOddIndex ? ENTRY_NAMES : null
    },
    apply: (step) => {
      const { op, path } = step
      if (comparison.isExhausted()) return { ok: false, because: EXHAUSTED }
      const holder = path.slice(0, -1)
      // An entry that is added to a list replaces nothing.
      const isAdded = op === 'add' && isList(current.at(holder))
      const sides = isAdded ? NO_VALUES : { shown: shown.at, current: current.at }
      const value = op === 'remove' ? null : withHiddenFieldsAt(resource, sides, step.value, path)
      const redactedPath =
        resource === CONFIGS ? misplacedRedacted(value, path, sides.current) : undefined
      if (redactedPath !== undefined)
        return { ok: false, because: displayPath(redactedPath) + IS_REDACTED }
      const isInList = isList(shown.at(holder))
      if (!current.apply({ ...step, value })) return NO_SUCH_PATH
      // A client may remove a field that it does not see. It sees all entries of lists.
      if (!shown.apply(step) && isInList) return NO_SUCH_PATH
      return { ok: true, value }
    },
  }
}

const SETTINGS: ReadonlySet<string> = new Set(['spec', 'status'])
const NO_VALUES: Sides = { shown: () => undefined, current: () => undefined }

const ENTRY_NAMES = 'entries of lists are named by 0, 1 and so on, and one is added at the end by -'
const NO_SUCH_PATH = {
  ok: false,
  because: `the path does not exist at that point of the patch; ${ENTRY_NAMES}`,
} as const

const EXHAUSTED =
  'too much was changed before it: put tests first, or send fewer operations at a time'

const IS_REDACTED = ' would be REDACTED, the placeholder of a hidden value: send the value itself'

/** Whether the path is at, above or below a hidden field, also if the object has no value there. */
const isNearHidden = (resource: Resource, path: NamePath): boolean =>
  hiddenFields(resource).some((hidden) =>
    hidden.every((name, place) => place >= path.length || path[place] === name),
  )

/** The paths of REDACTED in the spec and status parts of a value that is sent for a path. */
function redactedPathsIn(value: Json, path: NamePath, current: Draft): readonly NamePath[] {
  if (path.length > 0 && !SETTINGS.has(path[0] ?? '')) return []
  // A list on the way to the value is rebuilt with this one entry.
  const settingsTree = current
    .holdersOf(path)
    .reduceRight<Json>(
      (inner, holder, place) => (isList(holder) ? [inner] : { [path[place] ?? '']: inner }),
      value,
    )
  return [...SETTINGS].flatMap((part) => {
    const settings = nestedField(settingsTree, [part])
    if (!isMap(settings)) return []
    return redactedPathsOf(settings).map((place) => [
      ...path,
      ...[part, ...place].map(String).slice(path.length),
    ])
  })
}

const displayPath = (path: NamePath): string => pathText(path.map((part) => indexOf(part) ?? part))

// The comparison of the redacted view with the object (contract 12.4), while a patch changes both.

/** A comparison that caches its results. */
interface Comparison {
  readonly isSame: (shown: Json | undefined, current: Json | undefined) => boolean
  /** Whether it has used up its budget of entries. */
  readonly isExhausted: () => boolean
}

/** The budget: entries of changed parts, which are compared again for each test. Objects of our kinds have few. */
const MOST_COMPARED_ENTRIES = 100_000

/**
 * Compares the redacted view with the object. Each unchanged part is compared once, however often it is needed: the
 * comparison runs on the event loop of all requests.
 */
function createComparison(isSettled: (value: Container) => boolean): Comparison {
  const known = new Map<Container, { readonly shown: Container; readonly isSame: boolean }>()
  let comparedEntries = 0

  const isSame = (shown: Json | undefined, current: Json | undefined): boolean => {
    if (shown === current) return true
    if (!isContainer(shown) || !isContainer(current)) return false
    const found = known.get(current)
    if (found?.shown === shown) return found.isSame
    const same = areSame(shown, current)
    if (isSettled(shown) && isSettled(current)) known.set(current, { shown, isSame: same })
    else comparedEntries += Object.keys(current).length
    return same
  }

  const areSame = (shown: Container, current: Container): boolean => {
    if (isList(shown) !== isList(current)) return false
    // The redacted view is built from the object, with the names in the same order.
    const [shownEntries, stored] = [Object.entries(shown), Object.entries(current)]
    const isSameEntry = ([name, value]: Entry, place: number): boolean =>
      shownEntries[place]?.[0] === name && isSame(shownEntries[place][1], value)
    return shownEntries.length === stored.length && stored.every(isSameEntry)
  }
  return { isSame, isExhausted: () => comparedEntries > MOST_COMPARED_ENTRIES }
}

type Entry = readonly [name: string, value: Json]

// A draft of an object, which the operations of a JSON patch change one after the other, as the API server does
// (RFC 6902).

/** An operation that changes something. */
export interface DraftStep {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: NamePath
  /** Ignored for `remove`. */
  readonly value: Json
}

/** A copy of an object that operations change. The original stays as it is. */
interface Draft {
  /** The current value at a path; undefined = none, or not a valid path. */
  readonly at: (path: NamePath) => Json | undefined
  /** The map or list that holds each part of the path; undefined beyond the end of the object. */
  readonly holdersOf: (path: NamePath) => readonly (Json | undefined)[]
  /** Applies a step; false if its path does not exist. */
  readonly apply: (step: DraftStep) => boolean
  /** Whether this map or list is part of the original: it will never be changed in place. */
  readonly isSettled: (value: Container) => boolean
}

/** A map or a list. */
type Container = JsonMap | readonly Json[]
type MutableMap = { [name: string]: Json }
type Mutable = MutableMap | Json[]

/** Whether the value is a map or a list. */
const isContainer = (value: Json | undefined): value is Container =>
  typeof value === 'object' && value !== null

/** The list index that a part of a path names; null for other spellings, such as 01 or -1. */
const indexOf = (part: string): number | null =>
  /^(?:0|[1-9]\d{0,8})$/.test(part) ? Number(part) : null

/** A draft of an object. Each map and list is copied once, when it is first changed. */
function draftOf(object: JsonMap): Draft {
  const copies = new Set<Container>()
  let root: Json = object

  const copyOf = (value: Container): Mutable => {
    if (copies.has(value)) return value as Mutable
    const copy = isList(value) ? [...value] : { ...value }
    copies.add(copy)
    return copy
  }

  /** The map or list that holds the last part of a path, ready to be changed. */
  const holderOf = (path: NamePath): Mutable | null => {
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
    at: (path) => valueAt(root, path),
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

/** The value at a path, by names in maps and by indexes in lists; undefined = none. */
const valueAt = (value: Json, path: NamePath): Json | undefined =>
  path.reduce<Json | undefined>(
    (found, part) => (isContainer(found) ? entryIn(found, part) : undefined),
    value,
  )

function entryIn(holder: Container, part: string): Json | undefined {
  if (!isList(holder)) return ownValue(holder, part)
  const index = indexOf(part)
  return index === null ? undefined : holder[index]
}

/** Sets an own property, even one that is named `__proto__`. */
function set(holder: Mutable, part: string, value: Json): void {
  Object.defineProperty(holder, part, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

// The API server accepts `replace` for a map entry that does not exist.
function changeMap(map: MutableMap, name: string, { op, value }: DraftStep): boolean {
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
