// A queue for tests, which move its clock.
import { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { manualClock } from '../../../support/clock.ts'
import { OPEN_GATE } from '../../../support/event-loop-turns.ts'

/** When its clock begins, in epoch milliseconds. */
export const T0 = Date.parse('2026-11-21T10:00:00Z')

/** A queue on a clock of the test's, and all that its observer was told. */
export function stage() {
  const clock = manualClock(T0)
  const told = { added: 0, retried: 0, waited: [] as number[], worked: [] as number[] }
  const queue = new WorkQueue({
    clock,
    baseDelayMs: 200,
    maxDelayMs: 1000,
    observer: {
      added: () => (told.added += 1),
      retried: () => (told.retried += 1),
      waited: (seconds) => told.waited.push(seconds),
      worked: (seconds) => told.worked.push(seconds),
    },
    gate: OPEN_GATE,
  })
  /** Takes what waits, and puts each down at once. */
  const drain = async (): Promise<readonly (string | null)[]> => {
    const taken: (string | null)[] = []
    while (queue.depth > 0) {
      const key = await queue.take()
      taken.push(key)
      queue.done(key ?? '')
    }
    return taken
  }
  return { clock, queue, told, drain }
}
