// The fields of an object that may be recorded: what is not named here is hidden (contract 21.4).
import { type Json, type JsonMap, isList, isMap } from '../../json/json.ts'
import { HIDDEN, hideCredentials } from '../../redaction/credentials.ts'

/** What may be recorded of a value. */
export type Known =
  /** A text, number or boolean. */
  | { readonly kind: 'value' }
  | { readonly kind: 'list'; readonly entry: Known }
  /** A map whose names users choose; the entries that `hidden` names are left out of the record. */
  | { readonly kind: 'map'; readonly entry: Known; readonly hidden: ReadonlySet<string> }
  | { readonly kind: 'fields'; readonly fields: ReadonlyMap<string, Known> }

/** A text, number or boolean. */
export const VALUE: Known = { kind: 'value' }

/** A list of what `entry` says. */
export const listOf = (entry: Known): Known => ({ kind: 'list', entry })

/** A map with entries that `entry` describes; `hidden` names entries that are hidden. */
export const mapOf = (entry: Known, hidden: readonly string[] = []): Known => ({
  kind: 'map',
  entry,
  hidden: new Set(hidden),
})

/** Fields by name. */
export type KnownFields = Extract<Known, { readonly kind: 'fields' }>

/** An object with these fields. */
export const fieldsOf = (fields: Readonly<Record<string, Known>>): KnownFields => ({
  kind: 'fields',
  fields: new Map(Object.entries(fields)),
})

/** These names, each for a text, number or boolean. */
export const values = (...names: readonly string[]): Readonly<Record<string, Known>> =>
  Object.fromEntries(names.map((name) => [name, VALUE]))

/**
 * The value with HIDDEN in place of each part that is unknown or of another type, and of credentials in texts.
 *
 * @param known undefined = nothing of it
 */
export function hideUnknown(value: Json, known: Known | undefined): Json {
  if (value === null) return null
  if (known === undefined) return HIDDEN
  switch (known.kind) {
    case 'value':
      if (typeof value === 'object') return HIDDEN
      return typeof value === 'string' ? hideInText(value) : value
    case 'list':
      return isList(value) ? value.map((entry) => hideUnknown(entry, known.entry)) : HIDDEN
    case 'map':
      return isMap(value)
        ? changedFields(value, (one, name) =>
            known.hidden.has(name) ? HIDDEN : hideUnknown(one, known.entry),
          )
        : HIDDEN
    case 'fields':
      return isMap(value) ? hideUnknownFields(value, known) : HIDDEN
    default:
      return known satisfies never
  }
}

/** `hideUnknown` for an object. */
export const hideUnknownFields = (object: JsonMap, { fields }: KnownFields): JsonMap =>
  changedFields(object, (value, name) => hideUnknown(value, fields.get(name)))

/** The object with other values, and no credentials in its names. */
export function changedFields(
  object: JsonMap,
  change: (value: Json, name: string) => Json,
): JsonMap {
  const changed: Record<string, Json> = {}
  for (const name of Object.keys(object)) {
    const value = change(object[name] ?? null, name)
    if (name === '__proto__') Object.defineProperty(changed, name, { value, enumerable: true })
    else changed[hideInText(name)] = value
  }
  return changed
}

/** `hideCredentials`, faster where there is none: nearly everywhere. */
export const hideInText = (text: string): string =>
  text.includes('eyJ') || text.includes('pak_') ? hideCredentials(text) : text
