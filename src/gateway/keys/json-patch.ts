// JSON patches of our kinds (contract 12.4, 12.5): no operation may bring to light what is hidden.
import type { Resource } from '../../api/group.ts'
import { isList, isMap, type Json, type JsonMap, sameJson } from '../../domain/config/json.ts'
import { partsOfPointer } from '../../domain/config/path.ts'
import { quoted } from '../../domain/scope/text.ts'
import { at, textAt, withAt } from './at.ts'
import { hiddenFields, secretsIn, withHidden } from './hidden.ts'
import { redacted, SHOWS_NOTHING } from './redact.ts'

/** A patch that may be sent, or why it may not. */
export type PatchReading =
  | { readonly ok: true; readonly operations: readonly JsonMap[] }
  | { readonly ok: false; readonly because: string }

/** Each is looked at, and nobody else is answered meanwhile. */
const MOST_OPERATIONS = 1000

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'test'])

/**
 * The operations to send for those that a client sent, for the object as it is: they fail when it has
 * changed since. What they put in place of a part with something hidden keeps that.
 */
export function jsonPatchOf(
  resource: Resource,
  sent: readonly Json[],
  current: JsonMap,
): PatchReading {
  if (sent.length > MOST_OPERATIONS)
    return no(`a JSON patch has at most ${MOST_OPERATIONS} operations here`)
  const shown = redacted(resource, current, SHOWS_NOTHING)
  const operations: JsonMap[] = []
  for (const one of sent) {
    const [op, pointer] = [textAt(one, ['op']), at(one, ['path'])]
    const path = pointerOf(pointer)
    if (!OPERATIONS.has(op))
      return no(`operation ${quoted(op)} is not taken here, only ${[...OPERATIONS].join(', ')}`)
    if (path === null || pointer === undefined)
      return no('each operation needs a path, empty or of parts that begin with /')
    if (op === 'test' && mayTell(resource, path, current, shown))
      return no(`a test of ${quoted(textAt(one, ['path']))} is refused: it holds what is hidden`)
    const value = at(one, ['value'])
    const kept = op === 'add' || op === 'replace' ? keptAt(resource, path, value, current) : value
    operations.push({ op, path: pointer, ...(kept === undefined ? {} : { value: kept }) })
  }
  return { ok: true, operations: [...guards(current, sent), ...operations] }
}

const no = (because: string): PatchReading => ({ ok: false, because })

/** The texts that the patch brings and that must not be repeated. */
export const secretsOf = (resource: Resource, sent: readonly Json[]): readonly string[] =>
  sent.flatMap((one) => {
    const whole = wrapped(pointerOf(at(one, ['path'])) ?? [], at(one, ['value']))
    return whole === null ? [] : secretsIn(resource, whole)
  })

/** First of all: it is still the object that was judged, and annotations can be added (contract 12.5). */
function guards(current: JsonMap, sent: readonly Json[]): readonly JsonMap[] {
  const test = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: textAt(current, ['metadata', 'resourceVersion']),
  }
  const adds = sent.some((one) => /^\/metadata\/annotations\/./s.test(textAt(one, ['path'])))
  if (!adds || at(current, ['metadata', 'annotations']) !== undefined) return [test]
  return [test, { op: 'add', path: '/metadata/annotations', value: {} }]
}

/** The parts of a JSON pointer; null when it is none. */
function pointerOf(pointer: Json | undefined): readonly string[] | null {
  if (pointer === '') return []
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return null
  return partsOfPointer(pointer)
}

/** Whether a test there tells anything of what is hidden: there, above or below it. */
function mayTell(
  resource: Resource,
  path: readonly string[],
  current: JsonMap,
  shown: JsonMap,
): boolean {
  // From the end of a list: the API server counts so, and nobody needs it.
  if (path.some((part) => /^-\d+$/.test(part))) return true
  const isNear = hiddenFields(resource).some((hidden) =>
    hidden.every((name, place) => place >= path.length || path[place] === name),
  )
  if (isNear) return true
  return !sameJson(pointed(shown, path) ?? null, pointed(current, path) ?? null)
}

const pointed = (value: Json, path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((found, part) => {
    if (isList(found)) return found[Number(part)]
    return isMap(found) ? at(found, [part]) : undefined
  }, value)

/** The value, with what the object has hidden in that place. */
function keptAt(
  resource: Resource,
  path: readonly string[],
  value: Json | undefined,
  current: JsonMap,
): Json | undefined {
  const whole = wrapped(path, value)
  return whole === null ? value : at(withHidden(resource, whole, current), path)
}

/** An object with nothing but this value in that place; null where that is no object. */
function wrapped(path: readonly string[], value: Json | undefined): JsonMap | null {
  if (path.length === 0) return isMap(value) ? value : null
  return withAt({}, path, value)
}
