// A body as it stands in an event: JSON without secrets (contract 21.4).
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../json/json.ts'
import { setNestedField } from '../../json/field-path.ts'
import type { RecordedBody } from '../event.ts'
import { withoutLineEnds } from '../raw-json.ts'
import type { AuditedRequest } from '../policy.ts'
import { withExactNumbers } from './exact-numbers.ts'
import { hiddenKindOfBody, hiddenKindOf, mayNameHiddenKind } from './hidden-kinds.ts'
import { hideInDeleteOptions, hideSecrets, isOfMachinery } from './hide-body.ts'
import { patchPointers } from './patch-pointers.ts'
import type { ParsedBody } from './parsed-body.ts'
import { hideInStatus } from './status.ts'

/** Where a body belongs. */
export interface BodyContext {
  /** null = no path that can be read. */
  readonly request: AuditedRequest | null
  /** The code of the answer whose body it is; null = it is the body of the request. */
  readonly code: number | null
  /** The most bytes of what is recorded. */
  readonly limit: number
}

/** The body as it is recorded; null = there is none. */
export function recordedBody(parsed: ParsedBody | null, context: BodyContext): RecordedBody | null {
  if (parsed === null || 'omitted' in parsed) return parsed
  const json = jsonWithoutSecrets(parsed, context)
  if (json === null) return { omitted: 'size' }
  const exact = parsed.hasMarks ? withExactNumbers(json) : json
  const line = withoutLineEnds(exact)
  // Invalid UTF-8 and hidden values grow.
  return Buffer.byteLength(line) > context.limit ? { omitted: 'size' } : { json: line }
}

/** null = too long. */
function jsonWithoutSecrets(
  { value, patch }: Exclude<ParsedBody, { readonly omitted: unknown }>,
  { request, code, limit }: BodyContext,
): string | null {
  const ofPath = hiddenKindOf(request)
  const verb = code === null ? (request?.verb ?? '') : ''
  if (verb === 'patch' && (ofPath !== null || isOfHiddenKind(value))) {
    const pointers = patchPointers(value, patch, limit)
    return pointers === null ? null : JSON.stringify(pointers)
  }
  const lean = withoutManagedFields(value)
  if (DELETES.has(verb) && ofPath !== null) return JSON.stringify(hideInDeleteOptions(lean))
  if (code !== null && isMap(lean) && isOfMachinery(lean, 'Status'))
    return JSON.stringify(hideInStatus(lean, code, ofPath))
  const json = ofPath === null ? JSON.stringify(lean) : ''
  return ofPath === null && !mayNameHiddenKind(json)
    ? json
    : JSON.stringify(hideSecrets(lean, ofPath))
}

const isOfHiddenKind = (value: Json): boolean => isMap(value) && hiddenKindOfBody(value) !== null

const DELETES: ReadonlySet<string> = new Set(['delete', 'deletecollection'])

/** The body without managedFields: of the object, the items of a List, and the rows of a Table. */
function withoutManagedFields(body: Json): Json {
  if (!isMap(body)) return body
  const lean = withoutOwn(body)
  const [items, rows] = [ownValue(lean, 'items'), ownValue(lean, 'rows')]
  if (isList(items))
    return { ...lean, items: items.map((item) => (isMap(item) ? withoutOwn(item) : item)) }
  if (!isList(rows) || !isOfMachinery(lean, 'Table')) return lean
  return { ...lean, rows: rows.map(withLeanObject) }
}

function withLeanObject(row: Json): Json {
  const object = isMap(row) ? ownValue(row, 'object') : undefined
  return isMap(row) && isMap(object) ? { ...row, object: withoutOwn(object) } : row
}

function withoutOwn(object: JsonMap): JsonMap {
  const metadata = ownValue(object, 'metadata')
  if (!isMap(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object
  return setNestedField(object, ['metadata', 'managedFields'], undefined)
}
