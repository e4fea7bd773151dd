import { expect, test } from 'vitest'
import { type Watch, runController } from '../../../../src/kube/controller/builder.ts'
import type { Priority } from '../../../../src/kube/controller/work-queue.ts'
import { CircuitBreaker } from '../../../../src/kube/client/circuit-breaker.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { T0 } from './work-queue-builder.ts'

const ignore = (): void => undefined
const UNOBSERVED = {
  queue: { added: ignore, retried: ignore, waited: ignore, worked: ignore },
  loop: { started: ignore, finished: ignore },
  follow: ignore,
}

test.each<{ priority: Priority; workers: number; atOnce: number }>([
  { priority: 'change', workers: 8, atOnce: 8 },
  { priority: 'due', workers: 8, atOnce: 8 },
  { priority: 'resync', workers: 8, atOnce: 2 },
  { priority: 'resync', workers: 1, atOnce: 1 },
])(
  'of $workers workers, $atOnce reconcile keys that are queued for $priority',
  async ({ priority, workers, atOnce }) => {
    const clock = manualClock(T0)
    const begun: string[] = []
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const enqueueMany: Watch = (enqueue) => {
      for (let n = 0; n < 20; n += 1) enqueue(`key-${n}`, priority)
    }
    const stop = runController(
      {
        name: 'things',
        workers,
        reconcile: async (key) => {
          begun.push(key)
          await ended
          return { result: 'done' }
        },
        objectOf: () => undefined,
        reads: [{ whenSynced: (callback) => callback() }],
        watches: [enqueueMany],
      },
      {
        clock,
        turns: new EventLoopShare(clock),
        outage: new CircuitBreaker(clock),
        log: memoryLog().log,
        metrics: { controller: () => UNOBSERVED },
      },
    )
    await clock.advance(0)
    expect(begun).toHaveLength(atOnce)
    end()
    await stop()
  },
)
