import type { REASONS } from '../../api/reasons.ts'
import type { Condition } from '../../api/objects.ts'
import {
  type DesiredCondition,
  sameConditions,
  stalledCondition,
  withTransitionTimes,
} from '../../domain/conditions.ts'
import { MAX_TEAMS } from '../../domain/people/people.ts'
import { hasExpectedName } from '../../domain/people/object-name.ts'
import type { Principal, PrincipalKind } from './principal.ts'

/** Reason of Ready of a User or Team (contract 24.1). */
export type PrincipalState = (typeof REASONS.userReady)[number]

/** The first state that applies, in the order of the contract. */
export function stateOf(principal: Principal): PrincipalState {
  if (principal.isDeleting) return 'Terminating'
  if (!hasExpectedName(principal)) return 'NameMismatch'
  return principal.isDisabled ? 'Disabled' : 'Active'
}

/** What is left of the deletion of a User or Team. */
export interface KeysLeft {
  /** Keys that are not gone yet. */
  readonly count: number
  /** Why the last attempt to end one failed, as a clause; null = none failed. */
  readonly fault: string | null
}

/** What status depends on besides the object. */
export interface PrincipalFacts {
  /** In how many Teams the person is; of a Team 0. */
  readonly teamCount: number
  readonly keysLeft: KeysLeft
  readonly nowMs: number
}

/** The status to publish: only fields that no other manager has. */
export interface DesiredPrincipalStatus {
  readonly observedGeneration: number
  readonly conditions: readonly Condition[]
  /** The name in force, as `username` or `name`. */
  readonly [nameField: string]: unknown
}

/** The status to publish for a User or Team. */
export function statusOf(
  principal: Principal,
  kind: PrincipalKind,
  facts: PrincipalFacts,
): DesiredPrincipalStatus {
  const { generation, nameInForce, published } = principal
  const state = stateOf(principal)
  const ready: DesiredCondition = {
    type: 'Ready',
    status: state === 'Active' ? 'True' : 'False',
    reason: state,
    message: MESSAGES[state](principal, kind, facts),
  }
  const desired = state === 'Active' ? [ready] : [ready, stalledCondition(ready)]
  return {
    [kind.statusField]: nameInForce,
    observedGeneration: generation,
    conditions: withTransitionTimes(desired, published.conditions, generation, facts.nowMs),
  }
}

/** Whether the wanted status is published already. */
export const isPublished = (wanted: DesiredPrincipalStatus, principal: Principal): boolean =>
  principal.published.nameInForce === principal.nameInForce &&
  principal.published.observedGeneration === wanted.observedGeneration &&
  sameConditions(wanted.conditions, principal.published.conditions)

type MessageOf = (principal: Principal, kind: PrincipalKind, facts: PrincipalFacts) => string

const MESSAGES: Readonly<Record<PrincipalState, MessageOf>> = {
  Active: ({ nameInForce }, { activeMessage }, { teamCount }) =>
    activeMessage(nameInForce) + (teamCount > MAX_TEAMS ? tooManyTeams(teamCount) : ''),
  Terminating: ({ nameInForce }, { called }, { keysLeft: { count, fault } }) => {
    const left = count === 1 ? '1 of them is' : `${count === 0 ? 'none' : count} of them are`
    const failed = fault === null ? '' : `, and the end of one failed: ${fault}`
    return `The object is being deleted. No key of ${called(nameInForce)} works, and ${left} left${failed}.`
  },
  NameMismatch: ({ nameInForce, expectedName }, { called }) =>
    `The object has no effect: metadata.name of ${called(nameInForce)} is ${expectedName}. Create it under that name, and delete this one.`,
  Disabled: ({ nameInForce }, { called }) =>
    `No key of ${called(nameInForce)} works: remove spec.disabled to let them work again.`,
}

const tooManyTeams = (count: number): string =>
  ` The person is in ${count} Teams: keys have the groups of the first ${MAX_TEAMS} by name.`
