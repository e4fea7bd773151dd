import { FIELD_MANAGER } from '../api/group.ts'
import type { Condition, ManagedFieldsEntry } from '../api/meta.ts'
import { isMap } from './config/json.ts'

/** A tree of fieldsV1: `f:name`, `k:{...}`, `v:...` and `.`. */
type Fields = Readonly<Record<string, unknown>>

/** Which fields of an object, or of its status, our server-side applies own. */
export interface Owned {
  /** Whether we own the field; a path of names from the top of the object. */
  readonly has: (...path: readonly string[]) => boolean
  /** Those of the conditions in status that are ours as a whole; none where it is no list. */
  readonly conditions: (conditions: unknown) => readonly Condition[]
}

/**
 * What our field manager owns. Only that can be compared with what is wanted: an apply never takes
 * away a field that somebody else owns, so waiting for it to go would mean writing for ever.
 */
export function ownedBy(
  managedFields: readonly ManagedFieldsEntry[],
  subresource: '' | 'status',
): Owned {
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

/** Reads fields of a status of which only ours count; undefined for one that somebody else owns. */
export const oursIn =
  <Status extends object>(owned: Owned, status: Status) =>
  <Name extends keyof Status & string>(name: Name): Status[Name] | undefined =>
    owned.has('status', name) ? status[name] : undefined

const TEXTS = ['type', 'status', 'reason', 'message', 'lastTransitionTime']

const isCondition = (value: unknown): value is Condition =>
  isMap(value) && TEXTS.every((name) => typeof value[name] === 'string')

function ownsWhole(fields: Fields, condition: Condition): boolean {
  const key = `k:${JSON.stringify({ type: condition.type })}`
  const entry = at(fields, ['f:status', 'f:conditions', key])
  return (
    entry !== undefined && Object.keys(condition).every((name) => Object.hasOwn(entry, `f:${name}`))
  )
}

function at(fields: Fields, path: readonly string[]): Fields | undefined {
  return path.reduce<Fields | undefined>((found, name) => {
    const next = found && Object.hasOwn(found, name) ? found[name] : undefined
    return typeof next === 'object' && next !== null ? (next as Fields) : undefined
  }, fields)
}
