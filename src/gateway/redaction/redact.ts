// Every answer about our kinds, in whatever shape, without what is hidden of them (contract 12.4).
import type { Resource } from '../../api/names.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  parseJsonMap,
} from '../../domain/json/json.ts'
import { strictJsonError } from '../../domain/json/strict-json.ts'
import { REDACTED } from '../../domain/settings/redaction.ts'
import { secretsIn, withoutHiddenFields } from './fields.ts'

/** Which of the hidden fields of an object this caller is shown all the same. */
export type VisibleSecrets = (object: JsonMap) => readonly NamePath[]

/** Nothing. */
export const SHOWS_NOTHING: VisibleSecrets = () => []

const LAST_APPLIED: NamePath = [
  'metadata',
  'annotations',
  'kubectl.kubernetes.io/last-applied-configuration',
]

/**
 * An object as it is shown. Its secrets are also looked for in everything else that it says: annotations,
 * managedFields, text of its own.
 */
export function redacted(resource: Resource, object: JsonMap, shows: VisibleSecrets): JsonMap {
  const shown = shows(object)
  const bare = withoutHiddenFields(resource, flat(object))
  const applied = nestedField(bare, LAST_APPLIED)
  const annotated =
    applied === undefined
      ? bare
      : setNestedField(bare, LAST_APPLIED, redactedText(resource, applied))
  const clean = scrubbed(annotated, secretsIn(resource, object))
  return shown.reduce((whole, path) => {
    const value = nestedField(object, path)
    return value === undefined ? whole : setNestedField(whole, path, value)
  }, clean)
}

/** Twice what can be written here, or more. JSON.stringify fails at some thousands, for all that stands beside it. */
const MOST_LEVELS = 256

/** The object, or what of it is not below so many levels. */
const flat = (object: JsonMap): JsonMap =>
  isDeep(object, MOST_LEVELS) ? (cut(object, MOST_LEVELS) as JsonMap) : object

function isDeep(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1))
}

function cut(value: Json, levels: number): Json {
  if (isList(value)) return levels === 0 ? [] : value.map((inner) => cut(inner, levels - 1))
  if (!isMap(value)) return value
  if (levels === 0) return {}
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [name, cut(inner, levels - 1)]),
  )
}

/** An object as text. One that can't be read for certain is left out: it may hold anything. */
function redactedText(resource: Resource, text: Json): Json | undefined {
  if (typeof text !== 'string') return undefined
  const parsed = parseJsonMap(text)
  if (parsed === null || isDeep(parsed, MOST_LEVELS)) return undefined
  const plain = JSON.stringify(parsed)
  const clean = JSON.stringify(redacted(resource, parsed, SHOWS_NOTHING))
  if (clean !== plain) return `${clean}\n`
  // Of a name that stands twice one has not been read.
  return text === `${plain}\n` || strictJsonError(text) === null ? text : undefined
}

/** The value with REDACTED wherever it holds one of these texts, be it inside of JSON as text. */
export function scrubbed<Value extends Json>(value: Value, secrets: readonly string[]): Value {
  const forms = [...new Set(secrets.flatMap(formsOf))].toSorted((a, b) => b.length - a.length)
  const text = forms.length === 0 ? '' : JSON.stringify(value)
  const found = forms.filter((form) => text.includes(form) || text.includes(escaped(form)))
  return found.length === 0 ? value : (replaced(value, found) as Value)
}

const formsOf = (secret: string): readonly string[] => {
  const once = escaped(secret)
  return [secret, once, escaped(once)]
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

function replaced(value: Json, texts: readonly string[]): Json {
  if (typeof value === 'string') return replacedIn(value, texts)
  if (isList(value)) return value.map((one) => replaced(one, texts))
  if (!isMap(value)) return value
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [replacedIn(name, texts), replaced(inner, texts)]),
  )
}

const replacedIn = (text: string, parts: readonly string[]): string =>
  parts.reduce((rest, part) => rest.replaceAll(part, REDACTED), text)

/** Quotes the object as it would be, secrets included, when a patch makes it one that can't be read. */
const QUOTED_OBJECT = /\bpatch: Invalid value: "(?:[^"\\]|\\.)*"/g
const QUOTED_VALUE = /^Invalid value: "(?:[^"\\]|\\.)*"/

/** A failure of the API server as it is shown: it may repeat what was sent, and what is stored. */
export function redactedFailure(status: JsonMap, secrets: readonly string[]): JsonMap {
  const message = nestedString(status, ['message']).replace(QUOTED_OBJECT, 'patch: Invalid value')
  const causes = nestedField(status, ['details', 'causes'])
  const clean = isList(causes)
    ? setNestedField(status, ['details', 'causes'], causes.map(redactedCause))
    : status
  return scrubbed(setNestedField(clean, ['message'], message), secrets)
}

function redactedCause(cause: Json): Json {
  if (!isMap(cause) || nestedString(cause, ['field']) !== 'patch') return cause
  const message = nestedString(cause, ['message']).replace(QUOTED_VALUE, 'Invalid value')
  return setNestedField(cause, ['message'], message)
}

/** Any answer about objects of a kind: one of them, a List, a Table with whole objects, or a Status. */
export function redactedAnswer(
  resource: Resource,
  answer: JsonMap,
  shows: VisibleSecrets,
  secrets: readonly string[],
): JsonMap {
  const kind = nestedString(answer, ['kind'])
  if (kind === 'Status') return redactedFailure(answer, secrets)
  return mapObjects(resource, answer, (object) => redacted(resource, object, shows))
}

/** The answer with each object of the kind in it changed. @throws Error for a shape that is none of these */
function mapObjects(
  { kind: ours }: Resource,
  answer: JsonMap,
  change: (object: JsonMap) => JsonMap,
): JsonMap {
  const kind = nestedString(answer, ['kind'])
  const inner = (list: Json | undefined, of: (entry: JsonMap) => JsonMap): readonly Json[] =>
    (isList(list) ? list : []).filter(isMap).map(of)
  if (kind === ours) return change(answer)
  if (kind === `${ours}List`)
    return setNestedField(answer, ['items'], inner(nestedField(answer, ['items']), change))
  if (kind !== 'Table') throw new Error(`an answer about ${ours} is of another kind`)
  const rows = inner(nestedField(answer, ['rows']), (row) => {
    const object = nestedField(row, ['object'])
    return isMap(object) ? setNestedField(row, ['object'], change(object)) : row
  })
  return setNestedField(answer, ['rows'], rows)
}

// The whole objects in an answer, whatever its shape.

/** Where an answer holds its objects: rows of a Table, or items of a List. */
export const placeOf = (answer: JsonMap): 'rows' | 'items' =>
  nestedString(answer, ['kind']) === 'Table' ? 'rows' : 'items'

/** The object of a Table's row; of a List the item is the object. */
function objectOf(entry: Json): JsonMap | null {
  const object = nestedField(entry, ['object'])
  if (isMap(object)) return object
  return isMap(entry) ? entry : null
}

/** The entries of a List or Table. */
export function entriesOf(answer: JsonMap): readonly Json[] {
  const entries = nestedField(answer, [placeOf(answer)])
  return isList(entries) ? entries : []
}

/** The one object that an answer is about: itself, or that of a Table's first row. */
export function objectIn(answer: JsonMap): JsonMap {
  const isTable = nestedString(answer, ['kind']) === 'Table'
  return (isTable ? objectsIn(answer)[0] : answer) ?? {}
}

/** The objects of a List or Table. */
export const objectsIn = (answer: JsonMap): readonly JsonMap[] =>
  entriesOf(answer)
    .map(objectOf)
    .filter((object) => object !== null)

/** The List or Table with those of its objects only. */
export function keeping(answer: JsonMap, isKept: (object: JsonMap) => boolean): JsonMap {
  const kept = entriesOf(answer).filter((entry) => {
    const object = objectOf(entry)
    return object !== null && isKept(object)
  })
  return setNestedField(answer, [placeOf(answer)], kept)
}

/** Pages of one List or Table as one. */
export function joined(first: JsonMap, others: readonly JsonMap[]): JsonMap {
  const { metadata = {} } = others.at(-1) ?? first
  return { ...first, metadata, [placeOf(first)]: [first, ...others].flatMap(entriesOf) }
}
