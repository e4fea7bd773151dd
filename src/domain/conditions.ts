import type { Condition } from '../api/objects.ts'
import { formatTimestamp } from './time.ts'

/** A condition without times. */
export type DesiredCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/**
 * The Stalled condition beside a Ready that is False and does not change by itself: generic clients (kstatus) then
 * report a failure at once instead of waiting (contract 4.1 to 4.3).
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
  verdicts: readonly DesiredCondition[],
  published: readonly Condition[],
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  return verdicts.map((verdict) => {
    const before = published.find(({ type }) => type === verdict.type)
    const unchanged = before?.status === verdict.status
    return {
      ...verdict,
      observedGeneration,
      lastTransitionTime: unchanged
        ? before.lastTransitionTime
        : formatTimestamp(Math.floor(nowMs / 1000) * 1000),
    }
  })
}

/** Whether two sets of conditions are equal, in any order. */
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
