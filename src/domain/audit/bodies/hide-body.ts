// Hides what is secret in a body: by the kind of its path or its own, item by item in Lists and Tables (contract 21.4).
import { CONFIGS, GROUP } from '../../../api/names.ts'
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../json/json.ts'
import { redactSecrets } from '../../redaction/redact.ts'
import { secretsIn } from '../../redaction/fields.ts'
import { REDACTED, redactLiterals, redactSettings } from '../../settings/redaction.ts'
import { HIDDEN } from '../../redaction/credentials.ts'
import { type HiddenKind, groupOf, hiddenKindOfBody, hiddenKindWithin } from './hidden-kinds.ts'
import {
  type Known,
  VALUE,
  changedFields,
  fieldsOf,
  hideUnknown,
  hideUnknownFields,
  listOf,
  values,
} from './known-fields.ts'

const LIST_META = fieldsOf(values('selfLink', 'resourceVersion', 'continue', 'remainingItemCount'))

/** A body without what is secret in it. @param ofPath the hidden kind of the request's path; null = none */
export function hideSecrets(body: Json, ofPath: HiddenKind | null): Json {
  if (!isMap(body)) return ofPath === null ? hideWithin(body) : HIDDEN
  const [kind, items, rows] = [
    ownValue(body, 'kind'),
    ownValue(body, 'items'),
    ownValue(body, 'rows'),
  ]
  if (isOfMachinery(body, 'Table') && isList(rows)) return hideTable(body, rows, ofPath)
  if (ofPath !== null && kind === 'DeleteOptions') return hideInDeleteOptions(body)
  const ofBody = hiddenKindOfBody(body)
  if (isList(items)) return hideList(body, items, ofPath ?? ofBody)
  if (ofPath === null && ofBody === null) return hideWithin(body)
  return hideObject(body, ofPath, ofBody)
}

/** Whether it is of a kind of the API machinery. */
export function isOfMachinery(body: JsonMap, kind: string): boolean {
  const apiVersion = ownValue(body, 'apiVersion')
  const isOurs = typeof apiVersion === 'string' && MACHINERY.has(groupOf(apiVersion))
  return isOurs && ownValue(body, 'kind') === kind
}

const MACHINERY: ReadonlySet<string> = new Set(['', 'meta.k8s.io'])

/** What a delete may ask. */
const DELETE_OPTIONS = fieldsOf({
  ...values('apiVersion', 'kind', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents'),
  ...values('ignoreStoreReadErrorWithClusterBreakingPotential'),
  preconditions: fieldsOf(values('uid', 'resourceVersion')),
  dryRun: listOf(VALUE),
})

/** The options of a delete of a hidden kind. A client may leave out their own kind. */
export const hideInDeleteOptions = (body: Json): Json => hideUnknown(body, DELETE_OPTIONS)

/** An object by the kind of its path and by its own; null = none. */
function hideObject(
  object: JsonMap,
  ofPath: HiddenKind | null,
  ofObject: HiddenKind | null,
): JsonMap {
  const rest = ofPath === null ? object : withoutSecrets(object, ofPath)
  return ofObject === null || ofObject === ofPath ? rest : withoutSecrets(rest, ofObject)
}

function withoutSecrets(object: JsonMap, { resource, known }: HiddenKind): JsonMap {
  const shown = hideUnknownFields(object, known)
  if (resource.group !== GROUP) return shown
  const rest =
    resource === CONFIGS
      ? withoutSecretSettings(shown)
      : redactSecrets(shown, secretsIn(resource, object))
  return renamed(rest) as JsonMap
}

const withoutSecretSettings = (object: JsonMap): JsonMap =>
  changedFields(object, (value, name) => {
    if (!isMap(value)) return value
    if (name === 'spec') return redactLiterals(value)
    return name === 'status' ? redactSettings(value) : value
  })

/** HIDDEN in place of REDACTED. */
function renamed(value: Json): Json {
  if (typeof value === 'string') return value.replaceAll(REDACTED, HIDDEN)
  if (isList(value)) return value.map(renamed)
  if (!isMap(value)) return value
  return changedFields(value, renamed)
}

const LIST = fieldsOf({ ...values('apiVersion', 'kind'), metadata: LIST_META })

/** A List: each item by its own kind too, which may be another one. */
function hideList(list: JsonMap, items: readonly Json[], kind: HiddenKind | null): JsonMap {
  const shown = items.map((item) => {
    if (!isMap(item)) return kind === null ? hideWithin(item) : HIDDEN
    const ofItem = hiddenKindOfBody(item)
    return kind === null && ofItem === null ? hideWithin(item) : hideObject(item, kind, ofItem)
  })
  return { ...(kind === null ? list : hideUnknownFields(list, LIST)), items: shown }
}

const COLUMN = fieldsOf(values('name', 'type', 'format', 'description', 'priority'))

const TABLE: ReadonlyMap<string, Known> = new Map([
  ...LIST.fields,
  ['columnDefinitions', listOf(COLUMN)],
  ['conditions', listOf(fieldsOf(values('type', 'status', 'reason', 'message')))],
])

/** The columns that API servers print of Secrets and of our kinds: none of them shows a secret. */
const SHOWN_COLUMNS: ReadonlySet<Json> = new Set([
  'Name',
  'Namespace',
  'Type',
  'Data',
  'Age',
  'Ready',
  'Reason',
  'Expires',
  'Key ID',
  'Owner',
  'Identity',
  'Last Activity',
  'TTL',
  'Max TTL',
  'Message',
])

/** A Table: `kubectl get` asks for it. Its rows have an object, whole or only its metadata. */
function hideTable(table: JsonMap, rows: readonly Json[], ofPath: HiddenKind | null): JsonMap {
  const columns = ownValue(table, 'columnDefinitions')
  const isShown = (isList(columns) ? columns : []).map(
    (column) => isMap(column) && SHOWN_COLUMNS.has(ownValue(column, 'name') ?? null),
  )
  const shown = rows.map((row) => hideRow(row, ofPath, isShown))
  const rest = ofPath === null ? table : hideUnknownFields(table, { kind: 'fields', fields: TABLE })
  return { ...rest, rows: shown }
}

function hideRow(row: Json, ofPath: HiddenKind | null, isShown: readonly boolean[]): Json {
  if (!isMap(row)) return ofPath === null ? hideWithin(row) : HIDDEN
  const [object, cells] = [ownValue(row, 'object'), ownValue(row, 'cells')]
  const ofObject = isMap(object) ? hiddenKindOfBody(object) : null
  if (ofPath === null && ofObject === null) return hideWithin(row)
  return {
    ...hideUnknownFields(row, ROW),
    cells: (isList(cells) ? cells : []).map((cell, at) =>
      isShown[at] === true ? hideUnknown(cell, VALUE) : HIDDEN,
    ),
    ...(isMap(object) ? { object: hideObject(object, ofPath, ofObject) } : {}),
  }
}

const ROW = fieldsOf({
  conditions: listOf(fieldsOf(values('type', 'status', 'reason', 'message'))),
})

/** What stands within an object of another kind, such as a template of a Secret. Copies only where it hides something. */
function hideWithin(value: Json): Json {
  if (isList(value)) {
    const entries = value.map(hideWithin)
    return entries.every((entry, at) => entry === value[at]) ? value : entries
  }
  if (!isMap(value)) return value
  const kind = hiddenKindWithin(value)
  if (kind !== null) return withoutSecrets(value, kind)
  const changed = new Map<string, Json>()
  for (const name of Object.keys(value)) {
    const [before, after] = [value[name] ?? null, hideWithin(value[name] ?? null)]
    if (before !== after) changed.set(name, after)
  }
  return changed.size === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}
