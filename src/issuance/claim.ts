// Fields of a new object that belong to the platform. The client's field manager owns every field of its create, and
// its next apply would remove those that it does not name; so a second write claims them for the gateway.
import { API_VERSION, GATEWAY_FIELD_MANAGER, type Resource } from '../api/names.ts'
import { type NamePath, setNestedField } from '../domain/json/field-path.ts'
import type { Json, JsonMap } from '../domain/json/json.ts'
import type { KeyRef } from '../domain/shared-metadata.ts'

/** An object to create. */
export interface ClaimedObject {
  readonly object: JsonMap
  /** The fields of `object` that the platform set, to be claimed after the create. */
  readonly claimed: JsonMap
}

/** A field and its value. */
export type Field = readonly [path: NamePath, value: Json]

/** The object with a field that the platform sets, whatever the object has there. */
export const withClaimed = (
  { object, claimed }: ClaimedObject,
  [path, value]: Field,
): ClaimedObject => ({
  object: setNestedField(object, path, value),
  claimed: setNestedField(claimed, path, value),
})

/** A server-side apply that moves fields to another field manager. */
interface FieldClaim {
  readonly fieldManager: string
  readonly object: JsonMap
}

/**
 * The apply that claims the fields for the gateway. Send it without `force`, so that a later change by another manager
 * wins. The uid makes it fail on another object of the same name.
 *
 * @param stored name and uid of the created object
 */
export function claimFields(resource: Resource, stored: KeyRef, claimed: JsonMap): FieldClaim {
  const { name, uid } = stored
  const named = setNestedField(
    setNestedField(claimed, ['metadata', 'name'], name),
    ['metadata', 'uid'],
    uid,
  )
  return {
    fieldManager: GATEWAY_FIELD_MANAGER,
    object: { apiVersion: API_VERSION, kind: resource.kind, ...named },
  }
}
