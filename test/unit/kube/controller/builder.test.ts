import { expect, test } from 'vitest'
import { type Watch, fewResyncs, runController } from '../../../../src/kube/controller/builder.ts'
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

test.each<{ priority: Priority; resyncsAtOnce?: number; atOnce: number }>([
  { priority: 'change', resyncsAtOnce: 2, atOnce: 8 },
  { priority: 'due', resyncsAtOnce: 2, atOnce: 8 },
  { priority: 'resync', resyncsAtOnce: 2, atOnce: 2 },
  { priority: 'resync', atOnce: 8 },
])(
  'a controller of 8 workers lets $atOnce reconcile keys of $priority with resyncsAtOnce $resyncsAtOnce',
  async ({ priority, atOnce, ...spec }) => {
    const clock = manualClock(T0)
    const begun: string[] = []
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const enqueueMany: Watch = (enqueue) => {
      for (let n = 0; n < 20; n += 1) enqueue(`key-${n}`, priority)
    }
    const stop = runController(
      {
        name: 'things',
        workers: 8,
        ...spec,
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
        eventLoop: new EventLoopShare(clock),
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

test('a quarter of the workers may be busy with resyncs of keys and tokens, and one at least', () => {
  expect([1, 4, 16, 17, 256].map(fewResyncs)).toEqual([1, 1, 4, 5, 64])
})
