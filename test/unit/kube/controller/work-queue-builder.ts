// A work queue on a manual clock.
import { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { OPEN_GATE, manualClock } from '../../../support/manual-clock.ts'

/** Start of the clock, in epoch milliseconds. */
export const T0 = Date.parse('2026-11-21T10:00:00Z')

/** A work queue on a manual clock, and what its observer recorded; times in seconds. By default no bound of resyncs. */
export function workQueueOnClock({
  resyncsAtOnce = null,
}: {
  readonly resyncsAtOnce?: number | null
} = {}) {
  const clock = manualClock(T0)
  const observed = { added: 0, retried: 0, waited: [] as number[], worked: [] as number[] }
  const queue = new WorkQueue({
    clock,
    resyncsAtOnce,
    baseDelayMs: 200,
    maxDelayMs: 1000,
    observer: {
      added: () => (observed.added += 1),
      retried: () => (observed.retried += 1),
      waited: (seconds) => observed.waited.push(seconds),
      worked: (seconds) => observed.worked.push(seconds),
    },
    gate: OPEN_GATE,
  })
  /** Takes all waiting keys, marks each as done at once, and returns them in their order. */
  const drain = async (): Promise<readonly (string | null)[]> => {
    const taken: (string | null)[] = []
    while (queue.depth > 0) {
      const key = await queue.take()
      taken.push(key)
      queue.done(key ?? '')
    }
    return taken
  }
  return { clock, queue, observed, drain }
}
