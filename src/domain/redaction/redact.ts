// Redacts answers about our kinds, whatever their shape (contract 12.4).
import type { Resource } from '../../api/names.ts'
import { type NamePath, nestedField, nestedString, setNestedField } from '../json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  parseJsonMap,
} from '../json/json.ts'
import { strictJsonError } from '../json/strict-json.ts'
import { REDACTED } from '../settings/redaction.ts'
import { secretsIn, withoutHiddenFields } from './fields.ts'

/** The hidden fields of an object that this caller may see. */
export type VisibleSecrets = (object: JsonMap) => readonly NamePath[]

/** Shows no hidden field. */
export const SHOWS_NOTHING: VisibleSecrets = () => []

const LAST_APPLIED: NamePath = [
  'metadata',
  'annotations',
  'kubectl.kubernetes.io/last-applied-configuration',
]

/**
 * The object without its hidden fields, except those that `shows` returns. Its secrets are removed from all other
 * fields as well, such as annotations, managedFields and free text.
 */
export function redacted(resource: Resource, object: JsonMap, shows: VisibleSecrets): JsonMap {
  const shown = shows(object)
  const bare = withoutHiddenFields(resource, withLimitedDepth(object))
  const lastApplied = nestedField(bare, LAST_APPLIED)
  const withCleanAnnotation =
    lastApplied === undefined
      ? bare
      : setNestedField(bare, LAST_APPLIED, redactedText(resource, lastApplied))
  const clean = redactSecrets(withCleanAnnotation, secretsIn(resource, object))
  return shown.reduce((whole, path) => {
    const value = nestedField(object, path)
    return value === undefined ? whole : setNestedField(whole, path, value)
  }, clean)
}

/** At least twice the depth that can be written here. JSON.stringify of an answer fails at some thousands of levels. */
const MOST_LEVELS = 256

/** The object without what is nested deeper than MOST_LEVELS. */
const withLimitedDepth = (object: JsonMap): JsonMap =>
  isDeeperThan(object, MOST_LEVELS) ? (cutBelow(object, MOST_LEVELS) as JsonMap) : object

function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1))
}

function cutBelow(value: Json, levels: number): Json {
  if (isList(value)) return levels === 0 ? [] : value.map((inner) => cutBelow(inner, levels - 1))
  if (!isMap(value)) return value
  if (levels === 0) return {}
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [name, cutBelow(inner, levels - 1)]),
  )
}

/** Redacts an object in JSON text. A text that can't be parsed for certain is left out: it may hold any secret. */
function redactedText(resource: Resource, text: Json): Json | undefined {
  if (typeof text !== 'string') return undefined
  const parsed = parseJsonMap(text)
  if (parsed === null || isDeeperThan(parsed, MOST_LEVELS)) return undefined
  const plain = JSON.stringify(parsed)
  const clean = JSON.stringify(redacted(resource, parsed, SHOWS_NOTHING))
  if (clean !== plain) return `${clean}\n`
  // With a duplicate name, one of its values has not been checked.
  return text === `${plain}\n` || strictJsonError(text) === null ? text : undefined
}

/** Replaces each of these texts in the value by REDACTED, also where it is escaped in JSON text. */
export function redactSecrets<Value extends Json>(value: Value, secrets: readonly string[]): Value {
  const forms = [...new Set(secrets.flatMap(escapedForms))].toSorted((a, b) => b.length - a.length)
  const text = forms.length === 0 ? '' : JSON.stringify(value)
  const found = forms.filter((form) => text.includes(form) || text.includes(escaped(form)))
  return found.length === 0 ? value : (replaceInValue(value, found) as Value)
}

const escapedForms = (secret: string): readonly string[] => {
  const once = escaped(secret)
  return [secret, once, escaped(once)]
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

function replaceInValue(value: Json, texts: readonly string[]): Json {
  if (typeof value === 'string') return replaceInText(value, texts)
  if (isList(value)) return value.map((one) => replaceInValue(one, texts))
  if (!isMap(value)) return value
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [
      replaceInText(name, texts),
      replaceInValue(inner, texts),
    ]),
  )
}

const replaceInText = (text: string, parts: readonly string[]): string =>
  parts.reduce((rest, part) => rest.replaceAll(part, REDACTED), text)

/** The API server quotes the whole object, secrets included, when a patch makes it unreadable. */
const QUOTED_OBJECT = /\bpatch: Invalid value: "(?:[^"\\]|\\.)*"/g
const QUOTED_VALUE = /^Invalid value: "(?:[^"\\]|\\.)*"/

/** Redacts a failure of the API server: it may quote what was sent, and what is stored. */
export function redactedFailure(status: JsonMap, secrets: readonly string[]): JsonMap {
  const message = nestedString(status, ['message']).replace(QUOTED_OBJECT, 'patch: Invalid value')
  const causes = nestedField(status, ['details', 'causes'])
  const clean = isList(causes)
    ? setNestedField(status, ['details', 'causes'], causes.map(redactedCause))
    : status
  return redactSecrets(setNestedField(clean, ['message'], message), secrets)
}

function redactedCause(cause: Json): Json {
  if (!isMap(cause) || nestedString(cause, ['field']) !== 'patch') return cause
  const message = nestedString(cause, ['message']).replace(QUOTED_VALUE, 'Invalid value')
  return setNestedField(cause, ['message'], message)
}

/** Redacts any answer about objects of a kind: one object, a List, a Table with whole objects, or a Status. */
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

/** Changes each object of the kind in an answer. @throws Error for an answer of another kind or shape */
function mapObjects(
  { kind: expectedKind }: Resource,
  answer: JsonMap,
  change: (object: JsonMap) => JsonMap,
): JsonMap {
  const kind = nestedString(answer, ['kind'])
  const mapEntries = (
    list: Json | undefined,
    changeEntry: (entry: JsonMap) => JsonMap,
  ): readonly Json[] => (isList(list) ? list : []).filter(isMap).map(changeEntry)
  if (kind === expectedKind) return change(answer)
  if (kind === `${expectedKind}List`)
    return setNestedField(answer, ['items'], mapEntries(nestedField(answer, ['items']), change))
  if (kind !== 'Table') throw new Error(`an answer about ${expectedKind} has another kind`)
  const rows = mapEntries(nestedField(answer, ['rows']), (row) => {
    const object = nestedField(row, ['object'])
    return isMap(object) ? setNestedField(row, ['object'], change(object)) : row
  })
  return setNestedField(answer, ['rows'], rows)
}

// The whole objects in an answer, whatever its shape.

/** The field of an answer that holds its objects: `rows` of a Table, `items` of a List. */
export const placeOf = (answer: JsonMap): 'rows' | 'items' =>
  nestedString(answer, ['kind']) === 'Table' ? 'rows' : 'items'

/** The object in a row of a Table; an item of a List is the object itself. */
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

/** The one object of an answer: the answer itself, or the object in a Table's first row; empty if there is none. */
export function objectIn(answer: JsonMap): JsonMap {
  const isTable = nestedString(answer, ['kind']) === 'Table'
  return (isTable ? objectsIn(answer)[0] : answer) ?? {}
}

/** The objects of a List or Table. */
export const objectsIn = (answer: JsonMap): readonly JsonMap[] =>
  entriesOf(answer)
    .map(objectOf)
    .filter((object) => object !== null)

/** The List or Table with only the objects that `isKept` accepts. */
export function filterObjects(answer: JsonMap, isKept: (object: JsonMap) => boolean): JsonMap {
  const kept = entriesOf(answer).filter((entry) => {
    const object = objectOf(entry)
    return object !== null && isKept(object)
  })
  return setNestedField(answer, [placeOf(answer)], kept)
}

/** Joins the pages of one List or Table; the last page has its metadata. */
export function joined(first: JsonMap, others: readonly JsonMap[]): JsonMap {
  const { metadata = {} } = others.at(-1) ?? first
  return { ...first, metadata, [placeOf(first)]: [first, ...others].flatMap(entriesOf) }
}
