// The paths of patches (contract 19.2): which fields of an object a patch changes.
import { type FieldPath, setNestedField } from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, type JsonMap, ownValue } from '../../domain/json/json.ts'

/** One step of a path. The name of a map's key is also an index of an array, where it is a number. */
type Segment =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'wildcard' }

/** A parsed path, from the top of the object; it has one segment at least. */
export type PatchPath = readonly Segment[]

/** The parsed path, or a clause that says what is wrong and at which character, counted from 0. */
type ParsedPath =
  | { readonly ok: true; readonly path: PatchPath }
  | { readonly ok: false; readonly fault: string }

/** Parses a path such as `metadata.annotations["example.com/name"]` or `subsets[*].addresses[0].ip`. */
export function parsePatchPath(text: string): ParsedPath {
  try {
    return { ok: true, path: patchPath(text) }
  } catch (error) {
    if (error instanceof PathFault) return { ok: false, fault: error.message }
    throw error
  }
}

class PathFault extends Error {
  constructor(what: string, at: number) {
    super(`${what} at ${at}`)
  }
}

/** A segment, and the place of the first character after it. */
type SegmentRead = readonly [segment: Segment, next: number]

/** The path in a text of the program's own. @throws Error as parsePatchPath reports it */
export function patchPath(text: string): PatchPath {
  const path: Segment[] = []
  let isSegmentDue = true
  for (let at = 0; at < text.length; ) {
    const isBracket = text[at] === '['
    if (text[at] === '.') {
      if (isSegmentDue) throw new PathFault('unexpected empty segment', at)
      isSegmentDue = true
      at += 1
      continue
    }
    if (isBracket && isSegmentDue && at > 0) throw new PathFault('unexpected empty segment', at)
    if (!isBracket && !isSegmentDue) throw new PathFault('expected a dot or a bracket', at)
    const [segment, next] = isBracket ? bracketAt(text, at) : nameAt(text, at)
    if (path.length === 0 && segment.kind !== 'name')
      throw new PathFault(`unexpected ${segment.kind}`, 0)
    path.push(segment)
    isSegmentDue = false
    at = next
  }
  if (isSegmentDue) throw new PathFault('unexpected empty segment', Math.max(text.length - 1, 0))
  return path
}

/** A name up to the next dot or bracket; characters between double quotes belong to it. */
function nameAt(text: string, start: number): SegmentRead {
  let name = ''
  let isQuoted = false
  let at = start
  while (at < text.length && text[at] !== '.' && text[at] !== '[') {
    if (text[at] === ']') throw new PathFault('unexpected closing bracket', at)
    if (text[at] === '"') {
      const end = closingQuote(text, at)
      name += text.slice(at + 1, end)
      isQuoted = true
      at = end + 1
    } else {
      name += text[at]
      at += 1
    }
  }
  if (name === '') throw new PathFault('unexpected empty segment', start)
  return [!isQuoted && name === '*' ? { kind: 'wildcard' } : { kind: 'name', name }, at]
}

/** An index, a wildcard or a quoted key in brackets. */
function bracketAt(text: string, start: number): SegmentRead {
  const first = start + 1
  if (text[first] === '"') {
    const end = closingQuote(text, first)
    if (end === first + 1) throw new PathFault('unexpected empty segment', first)
    if (end + 1 === text.length) throw new PathFault('unclosed bracket', start)
    if (text[end + 1] !== ']') throw new PathFault('expected a closing bracket', end + 1)
    return [{ kind: 'name', name: text.slice(first + 1, end) }, end + 2]
  }
  const length = text.slice(first).search(/[[\]]/)
  if (length === -1) throw new PathFault('unclosed bracket', start)
  if (text[first + length] === '[')
    throw new PathFault('unexpected bracket in bracket', first + length)
  const inner = text.slice(first, first + length)
  const next = first + length + 1
  if (inner === '') throw new PathFault('unexpected empty segment', first)
  if (inner === '*') return [{ kind: 'wildcard' }, next]
  if (!INDEX.test(inner)) throw new PathFault('expected an index, * or a quoted key', first)
  return [{ kind: 'index', index: Number(inner) }, next]
}

/** Nine digits at most: an index beyond names nothing. */
const INDEX = /^(?:0|[1-9]\d{0,8})$/

function closingQuote(text: string, opening: number): number {
  const end = text.indexOf('"', opening + 1)
  if (end === -1) throw new PathFault('unclosed quote', opening)
  return end
}

/** A text that two paths share if and only if they name the same fields: `a.0`, `a[0]` and `a["0"]` are one path. */
export const canonicalPath = (path: PatchPath): string =>
  JSON.stringify(path.map((segment) => (segment.kind === 'wildcard' ? null : nameOf(segment))))

/** Whether a path can name a field at or below one that `outer` names. */
export const canBeWithin = (path: PatchPath, outer: PatchPath): boolean =>
  path.length >= outer.length &&
  outer.every((segment, at) => {
    const mine = path[at]
    if (mine === undefined) return false
    return (
      segment.kind === 'wildcard' || mine.kind === 'wildcard' || nameOf(mine) === nameOf(segment)
    )
  })

const nameOf = (segment: Segment): string =>
  segment.kind === 'name' ? segment.name : segment.kind === 'index' ? String(segment.index) : '*'

/** The fields of an object that the path names, in the order of lists and of sorted keys; a missing field is left out. */
export function matchedFields(object: Json, path: PatchPath): readonly FieldPath[] {
  let found: readonly (readonly [at: FieldPath, value: Json])[] = [[[], object]]
  for (const segment of path)
    found = found.flatMap(([at, value]) =>
      stepsInto(value, segment).map(([step, inner]) => [[...at, step], inner] as const),
    )
  return found.map(([at]) => at)
}

function stepsInto(
  value: Json,
  segment: Segment,
): readonly (readonly [step: string | number, inner: Json])[] {
  if (isList(value)) {
    if (segment.kind === 'wildcard') return value.map((inner, index) => [index, inner] as const)
    const name = nameOf(segment)
    const inner = INDEX.test(name) ? value[Number(name)] : undefined
    return inner === undefined ? [] : [[Number(name), inner]]
  }
  if (!isMap(value) || segment.kind === 'index') return []
  const names = segment.kind === 'wildcard' ? Object.keys(value).toSorted() : [segment.name]
  return names.flatMap((name) => {
    const inner = ownValue(value, name)
    return inner === undefined ? [] : [[name, inner] as const]
  })
}

/** The path of a field as a patch may write it, with brackets and quotes where a key needs them. */
export const patchPathText = (path: FieldPath): string =>
  path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`
      if (!/^[^.[\]"*]+$/.test(step)) return `["${step}"]`
      return at === 0 ? step : `.${step}`
    })
    .join('')

/**
 * The object with another value in a field that it has; undefined removes the field, or the element of the list.
 * A field that is missing stays missing.
 */
export function withField(object: JsonMap, path: FieldPath, value: Json | undefined): JsonMap {
  const changed = withValue(object, path, 0, value)
  return isMap(changed) ? changed : object
}

function withValue(
  current: Json,
  path: FieldPath,
  depth: number,
  value: Json | undefined,
): Json | undefined {
  const step = path[depth]
  if (step === undefined) return value
  if (typeof step === 'number') {
    if (!isList(current)) return current
    return current.flatMap((inner, index) => {
      const changed = index === step ? withValue(inner, path, depth + 1, value) : inner
      return changed === undefined ? [] : [changed]
    })
  }
  const inner = isMap(current) ? ownValue(current, step) : undefined
  if (!isMap(current) || inner === undefined) return current
  return setNestedField(current, [step], withValue(inner, path, depth + 1, value))
}

/** Whether a path can name the field, a field in it, or one that holds it. */
export const canTouch = (path: PatchPath, field: FieldPath): boolean =>
  isWithin(field, path) || canBeWithin(path, exactPath(field))

/** Whether the path names the field, or one that holds it. */
export const isWithin = (field: FieldPath, path: PatchPath): boolean =>
  canBeWithin(exactPath(field), path)

const exactPath = (field: FieldPath): PatchPath =>
  field.map((step) =>
    typeof step === 'number' ? { kind: 'index', index: step } : { kind: 'name', name: step },
  )
