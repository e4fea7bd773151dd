// The fields that the gateway filled in when it created a key (contract 12.1, 12.2): the manifest that created the key
// does not have them, and a PUT of the same manifest keeps them.
import { ACCESS_KEYS, GATEWAY_FIELD_MANAGER, type Resource } from '../../api/names.ts'
import { nestedField, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { KEY } from '../../domain/redaction/fields.ts'
import { entriesOf } from './write-options.ts'

/** The fields of a key's spec that a create fills in and clients see. */
const FILLED = ['user', 'type', 'ttl', 'scope'] as const

/**
 * The object of a PUT with the fields of the stored key that the create filled in, where the PUT has none. An empty text
 * and a ttl of 0 equal absent (contract 1.2). A field that another client has set since is not kept: it is theirs.
 */
export function withFilledFields(resource: Resource, sent: JsonMap, current: JsonMap): JsonMap {
  if (resource !== ACCESS_KEYS) return sent
  const whole = withoutEmptyKey(sent, current)
  return FILLED.reduce((object, name) => {
    const path = ['spec', name]
    const stored = nestedField(current, path)
    const isKept =
      stored !== undefined && isAbsentValue(nestedField(object, path)) && isFilled(current, name)
    return isKept && !namesAnother(object, name) ? setNestedField(object, path, stored) : object
  }, whole)
}

/**
 * The object without an empty key, with a spec: the create generated a key then, which is put back with the other hidden
 * fields (contract 12.4).
 */
function withoutEmptyKey(sent: JsonMap, current: JsonMap): JsonMap {
  if (!isFilled(current, 'key')) return sent
  const whole = isAbsentValue(nestedField(sent, ['spec'])) ? { ...sent, spec: {} } : sent
  return isAbsentValue(nestedField(whole, KEY)) ? setNestedField(whole, KEY, undefined) : whole
}

/** Whether the gateway is the manager of the field, or of a part of it. */
const isFilled = (current: JsonMap, name: string): boolean =>
  entriesOf(current, [GATEWAY_FIELD_MANAGER]).some(
    (entry) => nestedField(entry, ['fieldsV1', 'f:spec', `f:${name}`]) !== undefined,
  )

/** Whether a PUT without a user names a team or subject instead: the user would hide that from the check of the fields. */
const namesAnother = (object: JsonMap, name: string): boolean =>
  name === 'user' &&
  ['team', 'subject'].some((other) => nestedString(object, ['spec', other]) !== '')

const isAbsentValue = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === '' || value === 0
