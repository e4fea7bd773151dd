// Values that the API server does not decode. Its answer says little about them, so a patch that makes one is reported as
// an error of the patch (contract 19.3).
import type { FieldPath } from '../../domain/json/field-path.ts'
import { isList, isMap, type Json, ownValue } from '../../domain/json/json.ts'
import { type FieldType, type LeafType, ownType } from './field-types.ts'

/** A value that the API server does not decode: where it stands, and a clause without the value. */
interface TypeFault {
  readonly path: FieldPath
  readonly because: string
}

/**
 * The first field of the value that has another type than it must have; null = there is none.
 *
 * @param before fields with the same value here are not checked
 */
export function typeFault(
  value: Json,
  before: Json | undefined,
  type: FieldType,
  path: FieldPath = [],
): TypeFault | null {
  if (value === before) return null
  if (typeof type === 'string') {
    const is = leafFault(value, type)
    return is === null ? null : { path, because: becauseOf(is, type) }
  }
  if ('list' in type) {
    if (!isList(value)) return { path, because: becauseOf(nameOf(value), type) }
    const items = isList(before ?? null) ? (before as readonly Json[]) : []
    return firstFault(value.entries(), (inner, at) =>
      typeFault(inner, items[at], type.list, [...path, at]),
    )
  }
  if (!isMap(value)) return { path, because: becauseOf(nameOf(value), type) }
  return firstFault(Object.entries(value), (inner, name) => {
    const of = 'map' in type ? type.map : ownType(type.fields, name)
    // The API server takes null for a field that is absent, and drops fields that it does not know.
    if (of === undefined || ('fields' in type && inner === null)) return null
    const inBefore = isMap(before) ? ownValue(before, name) : undefined
    return typeFault(inner, inBefore, of, [...path, name])
  })
}

function firstFault<Step>(
  entries: Iterable<readonly [step: Step, value: Json]>,
  faultOf: (value: Json, step: Step) => TypeFault | null,
): TypeFault | null {
  for (const [step, value] of entries) {
    const fault = faultOf(value, step)
    if (fault !== null) return fault
  }
  return null
}

/** A description of a value that is not a leaf of this type; null = it is one. */
function leafFault(value: Json, type: LeafType): string | null {
  const isInt32 = Number.isInteger(value) && Math.abs(Number(value) + 0.5) <= 2 ** 31
  switch (type) {
    case 'text':
      return typeof value === 'string' ? null : nameOf(value)
    case 'boolean':
      return typeof value === 'boolean' ? null : nameOf(value)
    case 'int32':
      return isInt32 ? null : numberName(value)
    case 'int32 or text':
      return isInt32 || typeof value === 'string' ? null : numberName(value)
    case 'int64':
      return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 63 ? null : numberName(value)
    case 'base64':
      if (typeof value !== 'string') return nameOf(value)
      return BASE64.test(value.replaceAll(/[\r\n]/g, '')) ? null : 'text that is not base64'
    case 'time':
      if (typeof value !== 'string') return nameOf(value)
      return TIME.test(value) && !Number.isNaN(Date.parse(value)) ? null : 'text that is not a time'
    default:
      return type satisfies never
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

function nameOf(value: Json): string {
  if (value === null) return 'null'
  if (isList(value)) return 'a list'
  if (isMap(value)) return 'an object'
  return { string: 'text', number: 'a number', boolean: 'true or false' }[
    typeof value as 'string' | 'number' | 'boolean'
  ]
}

const numberName = (value: Json): string => {
  if (typeof value !== 'number') return nameOf(value)
  return Number.isInteger(value) ? 'too large a number' : 'a number with a fraction'
}

const becauseOf = (is: string, type: FieldType): string =>
  `it would be ${is}, and must be ${neededText(type)}`

/** What a field of this type must be, and how an expression gives it. */
export function neededText(type: FieldType): string {
  if (typeof type !== 'string') return 'list' in type ? 'a list' : 'an object'
  return LEAVES[type]
}

const LEAVES: Readonly<Record<LeafType, string>> = {
  text: 'text, as String(value) gives',
  boolean: 'true or false',
  int32: 'a whole number of 32 bits, as Number(value) gives',
  int64: 'a whole number of 64 bits, as Number(value) gives',
  'int32 or text': 'a whole number of 32 bits, or text',
  base64: 'base64, as btoa(text) gives',
  time: 'a time such as 2026-01-31T00:00:00Z',
}
