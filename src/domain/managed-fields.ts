// Reads metadata.managedFields: which fields our server-side applies own, and which ones other managers own.
import { FIELD_MANAGER } from '../api/names.ts'
import type { Condition, ManagedFieldsEntry } from '../api/objects.ts'
import {
  type Json,
  type JsonMap,
  isEmptyMap,
  isMap,
  mapFromEntries,
  ownValue,
  passing,
} from './json/json.ts'

/** A tree of fieldsV1: `f:name`, `k:{...}`, `v:...` and `.`. */
type FieldsV1 = Readonly<Record<string, unknown>>

/** The fields of an object, or of its status, that our server-side applies own. */
interface OwnedFields {
  /** Whether our field manager owns the field; `path` has the names from the top of the object. */
  readonly has: (...path: readonly string[]) => boolean
  /** The conditions of status whose fields all belong to our field manager; empty for a value that is not a list. */
  readonly conditions: (conditions: unknown) => readonly Condition[]
}

/**
 * The fields that our field manager owns. Only these are compared with the desired ones: an apply never removes a
 * field of another manager, so a comparison that includes such a field would cause endless writes.
 */
export function ownedFieldsOf(
  managedFields: readonly ManagedFieldsEntry[],
  subresource: '' | 'status',
): OwnedFields {
  const entry = managedFields.find(
    (one) =>
      one.manager === FIELD_MANAGER &&
      one.operation === 'Apply' &&
      (one.subresource ?? '') === subresource,
  )
  const fields = entry?.fieldsV1 ?? {}
  return {
    has: (...path) =>
      fieldsAt(
        fields,
        path.map((name) => `f:${name}`),
      ) !== undefined,
    conditions: (all) =>
      Array.isArray(all)
        ? passing(all, (one) => isCondition(one) && ownsEveryField(fields, one))
        : [],
  }
}

/** Whether a client has written the field: a default that the API server has filled in has no manager. */
export const hasManager = (
  managedFields: readonly ManagedFieldsEntry[],
  path: readonly string[],
): boolean =>
  managedFields.some(
    ({ fieldsV1 }) =>
      fieldsAt(
        fieldsV1 ?? {},
        path.map((name) => `f:${name}`),
      ) !== undefined,
  )

/** Returns a reader of the status fields that our field manager owns; it gives undefined for all other fields. */
export const ownedStatusField =
  <Status extends object>(owned: OwnedFields, status: Status) =>
  <Name extends keyof Status & string>(name: Name): Status[Name] | undefined =>
    owned.has('status', name) ? status[name] : undefined

const STRING_FIELDS = ['type', 'status', 'reason', 'message', 'lastTransitionTime']

const isCondition = (value: unknown): value is Condition =>
  isMap(value) && STRING_FIELDS.every((name) => typeof value[name] === 'string')

function ownsEveryField(fields: FieldsV1, condition: Condition): boolean {
  const key = `k:${JSON.stringify({ type: condition.type })}`
  const entry = fieldsAt(fields, ['f:status', 'f:conditions', key])
  return (
    entry !== undefined && Object.keys(condition).every((name) => Object.hasOwn(entry, `f:${name}`))
  )
}

function fieldsAt(fields: FieldsV1, path: readonly string[]): FieldsV1 | undefined {
  return path.reduce<FieldsV1 | undefined>((found, name) => {
    const child = found && Object.hasOwn(found, name) ? found[name] : undefined
    return typeof child === 'object' && child !== null ? (child as FieldsV1) : undefined
  }, fields)
}

/** The settings in status, split by field manager. */
export interface SettingsByOwner {
  /** The settings that our field manager owns. */
  readonly ours: JsonMap
  /** The settings that other managers own, including those that our field manager owns too. */
  readonly foreign: JsonMap
}

/**
 * Splits the settings in a Config's status by metadata.managedFields into ours and other managers' (contract 6.2).
 * Any operation on subresource status counts; observedGeneration and conditions are not settings. Without
 * managedFields both parts are empty.
 */
export function settingsByOwner(
  status: unknown,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  manager: string,
): SettingsByOwner {
  const settings = settingsOfStatus(status)
  const entries = (managedFields ?? []).filter(({ subresource }) => subresource === 'status')
  const ownedBy = (isOurs: boolean): JsonMap =>
    fieldsOwnedBy(
      entries.filter((entry) => (entry.manager === manager) === isOurs),
      settings,
    )
  return { ours: ownedBy(true), foreign: ownedBy(false) }
}

/** The settings in a status, whoever owns them; empty when there is no status. */
export function settingsOfStatus(status: unknown): JsonMap {
  if (!isMap(status)) return {}
  const { observedGeneration: _, conditions: __, ...settings } = status
  return settings
}

function fieldsOwnedBy(entries: readonly ManagedFieldsEntry[], settings: JsonMap): JsonMap {
  const fields = entries
    .map(({ fieldsV1 }) => (fieldsV1 as JsonMap | undefined)?.['f:status'])
    .reduce<JsonMap>((all, one) => (isMap(one) ? unionMaps(all, one) : all), {})
  return selectOwnedFields(fields, settings)
}

function unionMaps(a: JsonMap, b: JsonMap): JsonMap {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return mapFromEntries(
    [...names].map((name) => [name, unionValues(ownValue(a, name), ownValue(b, name))]),
  )
}

const unionValues = (a: Json | undefined, b: Json | undefined): Json | undefined =>
  isMap(a) && isMap(b) ? unionMaps(a, b) : (a ?? b)

// Maps are granular: a manager that owns only the map (`f:auth: {}`) owns none of its entries. Lists are atomic: the
// owner of a list owns all its entries.
function selectOwnedValue(fields: Json, value: Json): Json | undefined {
  if (!isMap(value)) return value
  const entries = isMap(fields) ? selectOwnedFields(fields, value) : {}
  return isEmptyMap(entries) ? undefined : entries
}

function selectOwnedFields(fields: JsonMap, map: JsonMap): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => {
      const ownership = ownValue(fields, `f:${name}`)
      return [name, ownership === undefined ? undefined : selectOwnedValue(ownership, value)]
    }),
  )
}
