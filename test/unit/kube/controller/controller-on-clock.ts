import { startController } from '../../../../src/kube/controller/controller.ts'
import type { Outcome } from '../../../../src/kube/controller/outcome.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { T0, workQueueOnClock } from './work-queue-builder.ts'

interface Logged extends Pick<Parameters<typeof startController>[0], 'objectOf'> {
  readonly level: 'debug' | 'info'
}

/** One controller over a work queue; `call` counts the calls of `reconcile` from 0. */
export function controllerOnClock(
  reconcile: (key: string, call: number) => Promise<Outcome>,
  workers = 1,
  { level, objectOf }: Logged = { level: 'info', objectOf: () => undefined },
) {
  const { clock, queue } = workQueueOnClock()
  const { log, lines } = memoryLog(level)
  const finished: { result: string; seconds: number }[] = []
  /** Reconciled keys, each with the milliseconds since the start. */
  const calls: string[] = []
  let activeCount = 0
  let mostActive = 0
  const stop = startController({
    places: null,
    name: 'things',
    objectOf,
    queue,
    workers,
    clock,
    eventLoop: new EventLoopShare(clock),
    outage: { isCertain: false },
    log,
    reconcile: (key) => {
      calls.push(`${key} ${clock.nowMs() - T0}`)
      return reconcile(key, calls.length - 1)
    },
    observer: {
      started: () => (mostActive = Math.max(mostActive, (activeCount += 1))),
      finished: (result, seconds) => {
        activeCount -= 1
        finished.push({ result, seconds })
      },
    },
  })
  const results = () => finished.map(({ result }) => result)
  return {
    clock,
    queue,
    stop,
    lines,
    finished,
    results,
    calls,
    activeCount: () => activeCount,
    mostActive: () => mostActive,
  }
}
