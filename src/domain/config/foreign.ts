import type { ManagedFieldsEntry } from '../../api/objects.ts'
import { type Json, type JsonMap, isEmpty, isMap, mapOf, own } from './json.ts'

/** What is in status, told apart by who wrote it. */
export interface Shares {
  /** The settings that our manager owns there. */
  readonly ours: JsonMap
  /** The settings that any other manager owns there, also where we own the same value. */
  readonly foreign: JsonMap
}

/**
 * Tells our settings in a Config's status from those of other managers by metadata.managedFields
 * (contract 6.2); any operation on subresource status counts. observedGeneration and conditions are
 * no settings. Without managedFields nobody owns anything.
 */
export function sharesOf(
  status: unknown,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  manager: string,
): Shares {
  const settings = settingsIn(status)
  const entries = (managedFields ?? []).filter(({ subresource }) => subresource === 'status')
  const of = (mine: boolean): JsonMap =>
    owned(
      entries.filter((entry) => (entry.manager === manager) === mine),
      settings,
    )
  return { ours: of(true), foreign: of(false) }
}

/** The settings in a status, whoever wrote them; empty when there is none. */
export function settingsIn(status: unknown): JsonMap {
  if (!isMap(status)) return {}
  const { observedGeneration: _, conditions: __, ...settings } = status
  return settings
}

function owned(entries: readonly ManagedFieldsEntry[], settings: JsonMap): JsonMap {
  const fields = entries
    .map(({ fieldsV1 }) => (fieldsV1 as JsonMap | undefined)?.['f:status'])
    .reduce<JsonMap>((all, one) => (isMap(one) ? union(all, one) : all), {})
  return projectMap(fields, settings)
}

function union(a: JsonMap, b: JsonMap): JsonMap {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return mapOf([...names].map((name) => [name, joined(own(a, name), own(b, name))]))
}

const joined = (a: Json | undefined, b: Json | undefined): Json | undefined =>
  isMap(a) && isMap(b) ? union(a, b) : (a ?? b)

// Who owns a map itself (`f:auth: {}`) owns none of its entries: maps are granular. Lists are
// atomic, so their owner owns all of them.
function project(fields: Json, value: Json): Json | undefined {
  if (!isMap(value)) return value
  const entries = isMap(fields) ? projectMap(fields, value) : {}
  return isEmpty(entries) ? undefined : entries
}

function projectMap(fields: JsonMap, map: JsonMap): JsonMap {
  return mapOf(
    Object.entries(map).map(([name, value]) => {
      const claim = own(fields, `f:${name}`)
      return [name, claim === undefined ? undefined : project(claim, value)]
    }),
  )
}
