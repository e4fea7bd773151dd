import type { EventRecorder, ObjectEvent } from '../event-recorder.ts'

/** A change of an object's state, which an event reports once (contract 4.5). */
export interface TransitionEvent<Reason extends string = string> {
  readonly reason: Reason
  /** A sentence. */
  readonly note: string
  /** What changed: after a restart the same transition has the same text, and makes no second event. */
  readonly of: string
}

/** Records the events of one transition after another; those with a normal reason are Normal, others Warning. */
export function recordTransitions(
  transitions: readonly TransitionEvent[],
  regarding: ObjectEvent['regarding'],
  normalReasons: readonly string[],
  events: EventRecorder,
): void {
  for (const { reason, note, of } of transitions) {
    events.record({
      regarding,
      type: normalReasons.includes(reason) ? 'Normal' : 'Warning',
      reason,
      action: 'Reconcile',
      note,
      discriminator: of,
    })
  }
}
