import { FIELD_MANAGER } from '../api/names.ts'
import type { Condition, ManagedFieldsEntry } from '../api/objects.ts'
import { isMap } from './config/json.ts'

/** A tree of fieldsV1: `f:name`, `k:{...}`, `v:...` and `.`. */
type Fields = Readonly<Record<string, unknown>>

/** The fields of an object, or of its status, that our server-side applies own. */
export interface Owned {
  /** Whether we own the field; a path of names from the top of the object. */
  readonly has: (...path: readonly string[]) => boolean
  /** The conditions in status of which we own every field; none when the value is no list. */
  readonly conditions: (conditions: unknown) => readonly Condition[]
}

/**
 * The fields that our field manager owns. Only these are compared with the wanted ones: an apply never removes a
 * field of another manager, so comparing it would write for ever.
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

/** Reads the fields of a status that we own; undefined for a field of another manager. */
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
