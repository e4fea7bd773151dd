// JSON patches of our kinds (contract 12.4, 12.5): no operation may bring to light what is hidden.
import type { Resource } from '../../api/names.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { type FieldPath, nestedField, nestedString } from '../../domain/json/nested-fields.ts'
import { partsOfPointer } from '../../domain/json/pointer.ts'
import { quoted } from '../../domain/scope/covers-limits.ts'
import { secretsAt } from '../redaction/fields.ts'
import { patchingOf } from './json-patch-disclosure.ts'
import type { Step } from './json-patch-draft.ts'

/** A patch that may be sent, or why it may not. */
export type PatchReading =
  | { readonly ok: true; readonly operations: readonly JsonMap[] }
  | { readonly ok: false; readonly because: string }

/** Each is looked at, and nobody else is answered meanwhile. */
const MOST_OPERATIONS = 1000
const MOST_TESTS = 100
/** Objects of ours have a few levels, and names of annotations 317 characters. */
const MOST_PARTS = 64
const LONGEST_PATH = 1024

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'test'])

/**
 * The operations to send for those that a client sent, for the object as it is: they fail when it has
 * changed since. Each is judged on the object as those before it leave it. What they put in place of a part
 * with something hidden keeps that.
 */
export function jsonPatchOf(
  resource: Resource,
  sent: readonly Json[],
  current: JsonMap,
): PatchReading {
  const many = tooMany(sent)
  if (many !== null) return no(many)
  const first = guards(current, sent)
  const patching = patchingOf(resource, current)
  for (const { op, path } of first)
    if (op === 'add') patching.take({ op, path: partsOfPointer(path), value: {} })
  const operations: JsonMap[] = []
  for (const one of sent) {
    const path = pathIn(one)
    if (typeof path === 'string') return no(path)
    const [op, pointer, value] = [
      nestedString(one, ['op']),
      nestedString(one, ['path']),
      nestedField(one, ['value']),
    ]
    if (isStep(op)) {
      const taken = patching.take({ op, path, value: value ?? null })
      if (!taken.ok) return no(`operation ${op} of ${quoted(pointer)}: ${taken.because}`)
      operations.push({ op, path: pointer, ...(op === 'remove' ? {} : { value: taken.value }) })
      continue
    }
    const because = patching.untestable(path)
    if (because !== null) return no(`a test of ${quoted(pointer)} is refused: ${because}`)
    operations.push({ op, path: pointer, ...(value === undefined ? {} : { value }) })
  }
  return { ok: true, operations: [...first, ...operations] }
}

const isStep = (op: string): op is Step['op'] => op !== 'test'

const no = (because: string): PatchReading => ({ ok: false, because })

function tooMany(sent: readonly Json[]): string | null {
  if (sent.length > MOST_OPERATIONS)
    return `a JSON patch has at most ${MOST_OPERATIONS} operations here`
  const tests = sent.filter((one) => nestedString(one, ['op']) === 'test')
  return tests.length > MOST_TESTS ? `a JSON patch has at most ${MOST_TESTS} tests here` : null
}

/** The path of an operation; a text says why it is not taken. */
export function pathIn(one: Json): FieldPath | string {
  const [op, pointer] = [nestedString(one, ['op']), nestedField(one, ['path'])]
  if (!OPERATIONS.has(op))
    return `operation ${quoted(op)} is not taken here, only ${[...OPERATIONS].join(', ')}`
  const path = pointerOf(pointer)
  if (path === null) return 'each operation needs a path, empty or of parts that begin with /'
  return path === 'long' || path.length > MOST_PARTS
    ? `a path has at most ${MOST_PARTS} parts and ${LONGEST_PATH} characters here`
    : path
}

/** The parts of a JSON pointer; null when it is none. */
function pointerOf(pointer: Json | undefined): FieldPath | 'long' | null {
  if (pointer === '') return []
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return null
  return pointer.length > LONGEST_PATH ? 'long' : partsOfPointer(pointer)
}

/** The texts that a patch, whose operations may be sent, brings and that must not be repeated. */
export const secretsOf = (resource: Resource, sent: readonly Json[]): readonly string[] =>
  sent.flatMap((one) => {
    const path = pathIn(one)
    return typeof path === 'string' ? [] : secretsAt(resource, nestedField(one, ['value']), path)
  })

interface Guard extends JsonMap {
  readonly op: string
  readonly path: string
}

/** First of all: it is still the object that was judged, and annotations can be added (contract 12.5). */
function guards(current: JsonMap, sent: readonly Json[]): readonly Guard[] {
  const test = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: nestedString(current, ['metadata', 'resourceVersion']),
  }
  const adds = sent.some((one) => /^\/metadata\/annotations\/./s.test(nestedString(one, ['path'])))
  if (!adds || nestedField(current, ['metadata', 'annotations']) !== undefined) return [test]
  return [test, { op: 'add', path: '/metadata/annotations', value: {} }]
}
