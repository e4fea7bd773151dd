import { REVOKE_FINALIZER } from '../../api/names.ts'
import type { EventReason } from '../../api/reasons.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { findCondition } from '../../domain/conditions.ts'
import { MAX_TEAMS } from '../../domain/people/people.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import { type Principal, type PrincipalKind, endsKeys, isHeartbeat } from './principal.ts'
import {
  type DesiredPrincipalStatus,
  type KeysLeft,
  type PrincipalFacts,
  isPublished,
  stateOf,
  statusOf,
} from './status.ts'

/** A change of a User that an event reports. */
type PrincipalTransition = TransitionEvent<Extract<EventReason, 'TooManyTeams'>>

/** The next step for a User or Team. */
export type PrincipalStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'adopt' }
  | { readonly kind: 'endKeys' }
  | {
      readonly kind: 'publish'
      readonly status: DesiredPrincipalStatus
      readonly announce: readonly PrincipalTransition[]
    }
  | { readonly kind: 'release' }

/** The input of the plan besides the object. */
interface PrincipalPlanInput extends Omit<PrincipalFacts, 'keysLeft'> {
  /** What is left of its deletion; null = its keys have not been looked for yet. */
  readonly keysLeft: KeysLeft | null
}

const NONE_LEFT: KeysLeft = { count: 0, fault: null }

/** The next step for a User or Team (contract 24.2). */
export function plan(
  principal: Principal,
  kind: PrincipalKind,
  input: PrincipalPlanInput,
): PrincipalStep {
  const { keysLeft } = input
  const isHeld = principal.finalizers.includes(REVOKE_FINALIZER)
  if (principal.isDeleting && isHeld) {
    if (!endsKeys(principal) || keysLeft?.count === 0) return { kind: 'release' }
    if (keysLeft === null) return { kind: 'endKeys' }
  }
  const isGone = principal.isDeleting && principal.finalizers.length === 0
  if (isGone || isHeartbeat(principal)) return { kind: 'nothing' }
  if (!principal.isDeleting && !isHeld) return { kind: 'adopt' }
  const status = statusOf(principal, kind, { ...input, keysLeft: keysLeft ?? NONE_LEFT })
  if (isPublished(status, principal)) return { kind: 'nothing' }
  return { kind: 'publish', status, announce: transitionsOf(principal, status, input) }
}

function transitionsOf(
  principal: Principal,
  { conditions }: DesiredPrincipalStatus,
  { teamCount }: PrincipalPlanInput,
): readonly PrincipalTransition[] {
  if (teamCount <= MAX_TEAMS || stateOf(principal) !== 'Active') return []
  const note = findCondition(conditions, 'Ready')?.message ?? ''
  return [{ reason: 'TooManyTeams', note, discriminator: String(teamCount) }]
}

/**
 * What the deletion of its person or team does to a key. `kept`: it is disabled, because a GitOps tool would create it
 * again; `gone`: it waits for finalizers of others only.
 */
type KeyEnd = 'delete' | 'wait' | 'gone' | 'disable' | 'kept'

/** What the deletion of its person or team does to a key (contract 24.2). */
export function keyEndOf({ isDeleting, finalizers, isTracked, isDisabled }: AccessKey): KeyEnd {
  if (isDeleting) return finalizers.includes(REVOKE_FINALIZER) ? 'wait' : 'gone'
  if (!isTracked) return 'delete'
  return isDisabled ? 'kept' : 'disable'
}

/** Whether the person or team waits for the key. */
export const isLeft = (key: AccessKey): boolean => !['gone', 'kept'].includes(keyEndOf(key))
