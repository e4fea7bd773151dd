import { FIELD_MANAGER } from '../../api/names.ts'
import { type Json, type JsonMap, isList } from '../../domain/json/json.ts'
import { at, textAt } from '../../domain/json/nested-fields.ts'

/**
 * The field manager of what the gateway adds to an object of somebody else's making. Nothing is ever
 * applied by it again, so that the field stays when its author applies anew without it.
 */
export const GATEWAY_MANAGER = `${FIELD_MANAGER}-gateway`

/** The field managers that nobody else may write as. */
export const RESERVED_MANAGERS: readonly string[] = [FIELD_MANAGER, GATEWAY_MANAGER]

/** What each of these field managers owns of an object, as its managedFields have it; empty where it has none. */
export function entriesOf(object: JsonMap, managers: readonly string[]): readonly Json[] {
  const all = at(object, ['metadata', 'managedFields'])
  return isList(all) ? all.filter((entry) => managers.includes(textAt(entry, ['manager']))) : []
}
