// The owners of fields in metadata.managedFields: what our server-side apply wrote, and what others wrote.
import { FIELD_MANAGER } from '../api/names.ts'
import type { Condition, ManagedFieldsEntry } from '../api/objects.ts'
import {
  type Json,
  type JsonMap,
  isEmptyMap,
  isMap,
  mapFromEntries,
  ownValue,
} from './json/json.ts'

/** A tree of fieldsV1: `f:name`, `k:{...}`, `v:...` and `.`. */
type FieldsV1 = Readonly<Record<string, unknown>>

/** The fields of an object, or of its status, that our server-side applies own. */
interface OwnedFields {
  /** Whether we own the field; a path of names from the top of the object. */
  readonly has: (...path: readonly string[]) => boolean
  /** The conditions in status of which we own every field; none when the value is no list. */
  readonly conditions: (conditions: unknown) => readonly Condition[]
}

/**
 * The fields that our field manager owns. Only these are compared with the desired ones: an apply never removes a
 * field of another manager, so a comparison with it would cause an endless sequence of writes.
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
      at(
        fields,
        path.map((name) => `f:${name}`),
      ) !== undefined,
    conditions: (all) =>
      Array.isArray(all)
        ? all.filter(isCondition).filter((condition) => ownsWhole(fields, condition))
        : [],
  }
}

/** Reads the fields of a status that we own; undefined for a field of another manager. */
export const ownedStatusField =
  <Status extends object>(owned: OwnedFields, status: Status) =>
  <Name extends keyof Status & string>(name: Name): Status[Name] | undefined =>
    owned.has('status', name) ? status[name] : undefined

const STRING_FIELDS = ['type', 'status', 'reason', 'message', 'lastTransitionTime']

const isCondition = (value: unknown): value is Condition =>
  isMap(value) && STRING_FIELDS.every((name) => typeof value[name] === 'string')

function ownsWhole(fields: FieldsV1, condition: Condition): boolean {
  const key = `k:${JSON.stringify({ type: condition.type })}`
  const entry = at(fields, ['f:status', 'f:conditions', key])
  return (
    entry !== undefined && Object.keys(condition).every((name) => Object.hasOwn(entry, `f:${name}`))
  )
}

function at(fields: FieldsV1, path: readonly string[]): FieldsV1 | undefined {
  return path.reduce<FieldsV1 | undefined>((found, name) => {
    const next = found && Object.hasOwn(found, name) ? found[name] : undefined
    return typeof next === 'object' && next !== null ? (next as FieldsV1) : undefined
  }, fields)
}

/** The settings in status, by field manager. */
export interface SettingsByOwner {
  /** The settings that our manager owns there. */
  readonly ours: JsonMap
  /** The settings that any other manager owns there, also where we own the same value. */
  readonly foreign: JsonMap
}

/**
 * Splits the settings in a Config's status by metadata.managedFields into ours and those of other managers (contract
 * 6.2); any operation on subresource status counts. observedGeneration and conditions are no settings. Without
 * managedFields both parts are empty.
 */
export function settingsByOwner(
  status: unknown,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  manager: string,
): SettingsByOwner {
  const settings = settingsOfStatus(status)
  const entries = (managedFields ?? []).filter(({ subresource }) => subresource === 'status')
  const ownedBy = (mine: boolean): JsonMap =>
    fieldsOwnedBy(
      entries.filter((entry) => (entry.manager === manager) === mine),
      settings,
    )
  return { ours: ownedBy(true), foreign: ownedBy(false) }
}

/** The settings in a status, of all managers; empty when there is none. */
export function settingsOfStatus(status: unknown): JsonMap {
  if (!isMap(status)) return {}
  const { observedGeneration: _, conditions: __, ...settings } = status
  return settings
}

function fieldsOwnedBy(entries: readonly ManagedFieldsEntry[], settings: JsonMap): JsonMap {
  const fields = entries
    .map(({ fieldsV1 }) => (fieldsV1 as JsonMap | undefined)?.['f:status'])
    .reduce<JsonMap>((all, one) => (isMap(one) ? union(all, one) : all), {})
  return projectMap(fields, settings)
}

function union(a: JsonMap, b: JsonMap): JsonMap {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return mapFromEntries(
    [...names].map((name) => [name, joined(ownValue(a, name), ownValue(b, name))]),
  )
}

const joined = (a: Json | undefined, b: Json | undefined): Json | undefined =>
  isMap(a) && isMap(b) ? union(a, b) : (a ?? b)

// The owner of a map itself (`f:auth: {}`) owns none of its entries: maps are granular. Lists are
// atomic, so their owner owns all entries.
function project(fields: Json, value: Json): Json | undefined {
  if (!isMap(value)) return value
  const entries = isMap(fields) ? projectMap(fields, value) : {}
  return isEmptyMap(entries) ? undefined : entries
}

function projectMap(fields: JsonMap, map: JsonMap): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => {
      const claim = ownValue(fields, `f:${name}`)
      return [name, claim === undefined ? undefined : project(claim, value)]
    }),
  )
}
