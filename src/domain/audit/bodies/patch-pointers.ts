// A patch of a hidden kind: which fields it changes, without their values (contract 21.4).
import { type Json, type JsonMap, isEmptyMap, isList, isMap, ownValue } from '../../json/json.ts'
import { HIDDEN } from '../../redaction/credentials.ts'
import { hideInText } from './known-fields.ts'
import type { PatchForm } from './parsed-body.ts'

/** The record of a patch without its values; null = longer than the limit. */
type PatchPointers = readonly Json[] | null

/**
 * The operations of a JSON patch with their paths; of any other patch the pointers of its values. Whatever is neither is
 * hidden.
 *
 * @param mostLength of all pointers together: each repeats the names above it
 */
export function patchPointers(patch: Json, form: PatchForm, mostLength: number): PatchPointers {
  if (form === 'operations')
    return isList(patch) ? patch.map((one) => (isMap(one) ? operationOf(one) : HIDDEN)) : [HIDDEN]
  if (form === 'record' && isList(patch))
    return patch.map((one) => (isMap(one) ? operationOf(one) : pointerText(one)))
  return mergePatchPointers(patch, mostLength)
}

const OPERATIONS: ReadonlySet<Json> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

function operationOf(operation: JsonMap): JsonMap {
  const op = ownValue(operation, 'op') ?? null
  const from = ownValue(operation, 'from')
  return {
    op: OPERATIONS.has(op) ? op : HIDDEN,
    path: pointerText(ownValue(operation, 'path')),
    ...(from === undefined ? {} : { from: pointerText(from) }),
  }
}

const pointerText = (pointer: Json | undefined): string =>
  typeof pointer === 'string' && (pointer === '' || pointer.startsWith('/'))
    ? hideInText(pointer)
    : HIDDEN

/** The pointers of all values in a merge patch, a strategic merge patch or an apply; a list is one value. */
function mergePatchPointers(patch: Json, mostLength: number): PatchPointers {
  const pointers: string[] = []
  const isWithin = addPointers(patch, '', pointers, { left: mostLength })
  return isWithin ? pointers : null
}

/** @returns whether there was room for all */
function addPointers(value: Json, pointer: string, to: string[], room: { left: number }): boolean {
  if (isMap(value) && !isEmptyMap(value)) {
    return Object.keys(value).every((name) => {
      const below = `${pointer}/${segmentOf(hideInText(name))}`
      return addPointers(value[name] ?? null, below, to, room)
    })
  }
  room.left -= pointer.length + PUNCTUATION
  if (room.left < 0) return false
  to.push(pointer)
  return true
}

/** Quotes and a comma. */
const PUNCTUATION = 3

const segmentOf = (name: string): string =>
  /[~/]/.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
