// What a report tells outside, in memory: Events, and counts of an observer.
import type { EventRecorder, ObjectEvent } from '../../../src/kube/event-recorder.ts'
import type { SyncObserver } from '../../../src/sync/writes/observer.ts'

/** A recorder, and the Events that it has recorded. */
export function memoryEvents(): {
  readonly recorder: EventRecorder
  readonly events: ObjectEvent[]
} {
  const events: ObjectEvent[] = []
  const recorder: EventRecorder = {
    record: (event) => void events.push(event),
    flush: () => Promise.resolve(),
    stop: () => undefined,
  }
  return { recorder, events }
}

/** An observer, and its counts in order: a direction, a reason, or the seconds of a lag. */
export function memoryObserver(): {
  readonly observer: SyncObserver
  readonly counts: (string | number)[]
} {
  const counts: (string | number)[] = []
  const count = (one: string | number): void => void counts.push(one)
  return { observer: { wrote: count, failed: count, caughtUp: count }, counts }
}
