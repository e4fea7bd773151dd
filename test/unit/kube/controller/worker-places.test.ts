import { expect, test } from 'vitest'
import { startController } from '../../../../src/kube/controller/controller.ts'
import { done } from '../../../../src/kube/controller/outcome.ts'
import { WorkerPlaces } from '../../../../src/kube/controller/worker-places.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { workQueueOnClock } from './work-queue-builder.ts'

test('each place has one key; a key that has left comes before keys that have had none (19.4)', async () => {
  const places = new WorkerPlaces(1)
  const steps: string[] = []
  let calls = 0
  places.whenLeft(() => (calls += 1))
  await places.take()
  places.leave()
  expect({ left: places.left, calls }).toEqual({ left: 1, calls: 1 })
  await places.take()
  const taken = places.take().then(() => steps.push('taken'))
  const entered = places.enter().then(() => steps.push('entered'))
  await Promise.resolve()
  expect(steps).toEqual([])
  places.giveBack()
  await entered
  expect({ steps: [...steps], left: places.left }).toEqual({ steps: ['entered'], left: 0 })
  places.giveBack()
  await taken
  expect(steps).toEqual(['entered', 'taken'])
})

test('a reconcile that leaves its place holds up no other key (19.4)', async () => {
  const { clock, queue } = workQueueOnClock()
  const places = new WorkerPlaces(1)
  const waiting: (() => void)[] = []
  const keys: string[] = []
  const stop = startController({
    name: 'things',
    objectOf: () => undefined,
    queue,
    workers: 1,
    places,
    clock,
    eventLoop: new EventLoopShare(clock),
    outage: { isCertain: false },
    log: memoryLog('info').log,
    reconcile: async (key) => {
      keys.push(key)
      if (!key.startsWith('slow')) return done
      places.leave()
      await new Promise<void>((resolve) => waiting.push(resolve))
      await places.enter()
      return done
    },
    observer: { started: () => undefined, finished: () => undefined },
  })
  for (const key of ['slow-a', 'slow-b', 'slow-c', 'd', 'e']) queue.add(key, 'change')
  await clock.advance(0)
  expect(keys).toEqual(['slow-a', 'slow-b', 'slow-c', 'd', 'e'])
  for (const go of waiting) go()
  await clock.advance(0)
  queue.add('f', 'change')
  await clock.advance(0)
  expect({ last: keys.at(-1), left: places.left }).toEqual({ last: 'f', left: 0 })
  await stop()
})
