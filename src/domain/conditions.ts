import type { ConditionReason } from '../api/reasons.ts'
import type { Condition } from '../api/objects.ts'
import { formatSecond } from './time.ts'

/** A condition before `withTransitionTimes` adds its lastTransitionTime and observedGeneration. */
export interface DesiredCondition extends Pick<Condition, 'type' | 'status' | 'message'> {
  readonly reason: ConditionReason
  /** The generation that it is the state of; absent = the present one. */
  readonly observedGeneration?: number
}

/**
 * The Stalled condition beside a Ready condition that stays False until a user changes something: generic clients
 * (kstatus) then report a failure instead of waiting (contract 4.1 to 4.3).
 */
export const stalledCondition = (ready: DesiredCondition): DesiredCondition => ({
  ...ready,
  type: 'Stalled',
  status: 'True',
})

/**
 * The conditions to publish. lastTransitionTime changes only when the status changes (contract 4.4);
 * metav1.Time has whole seconds.
 */
export function withTransitionTimes(
  desired: readonly DesiredCondition[],
  published: readonly Condition[],
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  return desired.map((condition) => {
    const previous = published.find(({ type }) => type === condition.type)
    const unchanged = previous?.status === condition.status
    return {
      observedGeneration,
      ...condition,
      lastTransitionTime: unchanged ? previous.lastTransitionTime : formatSecond(nowMs),
    }
  })
}

/** Whether two sets of conditions are equal; their order does not matter. */
export function sameConditions(a: readonly Condition[], b: readonly Condition[]): boolean {
  return a.length === b.length && a.every((one) => b.some((other) => isSame(one, other)))
}

const isSame = (a: Condition, b: Condition): boolean =>
  a.type === b.type &&
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration &&
  a.lastTransitionTime === b.lastTransitionTime

/** The condition of that type; undefined when there is none. */
export const findCondition = (
  conditions: readonly Condition[],
  type: string,
): Condition | undefined => conditions.find((condition) => condition.type === type)
