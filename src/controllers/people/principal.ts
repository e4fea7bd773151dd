// A User or a Team as its controller needs it: what it means for keys, and what the controller has done to it.
import { HEARTBEAT_NAME, type Resource } from '../../api/names.ts'
import type { Condition, KubeObject } from '../../api/objects.ts'
import { type ExpectedName, hasExpectedName } from '../../domain/people/object-name.ts'
import { fieldsOf, stringOf } from '../../domain/json/json.ts'
import { ownedFieldsOf } from '../../domain/managed-fields.ts'

/** The fields of status that our field manager owns, without conditions of other managers. */
interface PublishedStatus {
  /** The name in force of the person or team. */
  readonly nameInForce: string | undefined
  readonly observedGeneration: unknown
  readonly conditions: readonly Condition[]
}

/** What a controller has to know of a User or Team besides its meaning. */
interface AdministeredFields {
  readonly generation: number
  readonly finalizers: readonly string[]
  readonly published: PublishedStatus
}

/** A User or a Team. */
export interface Principal extends AdministeredFields, ExpectedName {
  readonly uid: string
  readonly resourceVersion: string
  /** The name of the person or team, as keys have it. */
  readonly nameInForce: string
  /** Whether spec locks the person out; of a Team false. */
  readonly isDisabled: boolean
  readonly isDeleting: boolean
}

/** What the controllers of Users and of Teams do differently. */
export interface PrincipalKind {
  readonly resource: Resource
  /** The field of keys that has the name of the person or team. */
  readonly keyField: 'spec.user' | 'spec.team'
  /** The field of status with the name in force. */
  readonly statusField: 'username' | 'name'
  /** How messages call the person or team. */
  readonly called: (nameInForce: string) => string
  /** What the object does while it is Active, as a sentence. */
  readonly activeMessage: (nameInForce: string) => string
  /** Why keys are deleted or disabled with it, for metrics. */
  readonly writeReason: string
}

/** Reads the fields of an object that its controller needs besides its meaning. */
export function administeredFieldsOf(
  { metadata, status }: KubeObject,
  { statusField }: Pick<PrincipalKind, 'statusField'>,
): AdministeredFields {
  const owned = ownedFieldsOf(metadata.managedFields ?? [], 'status')
  const fields = fieldsOf(status)
  const ours = (name: string): unknown => (owned.has('status', name) ? fields[name] : undefined)
  return {
    generation: metadata.generation ?? 0,
    finalizers: metadata.finalizers ?? NO_FINALIZERS,
    published: {
      nameInForce: stringOf(ours(statusField)),
      observedGeneration: ours('observedGeneration'),
      conditions: owned.conditions(fields['conditions']),
    },
  }
}

/** One empty list for all objects without finalizers, to save memory. */
const NO_FINALIZERS: readonly string[] = []

/** Whether the object is a heartbeat of the gateways (contract 10.4), to which the operator does nothing. */
export const isHeartbeat = ({ name }: Pick<Principal, 'name'>): boolean => name === HEARTBEAT_NAME

/** Whether keys end with the object: one under another name counts for nothing (contract 24.1). */
export const endsKeys = (principal: Principal): boolean =>
  hasExpectedName(principal) && !isHeartbeat(principal)
