import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { CircuitBreaker } from '../client/circuit-breaker.ts'
import type { CachedObject, Store, StoreChange } from '../informer/store.ts'
import { type Outcome, type StopController, startController } from './controller.ts'
import type { ControllerMetrics } from './metrics.ts'
import { type Priority, WorkQueue } from './work-queue.ts'

/** Adds a key to the queue of a controller. */
type Enqueue = (key: string, priority: Priority) => void

/**
 * A source of keys: it enqueues them from now on.
 *
 * @returns what ends it with the controller; nothing where it ends with the process
 */
export type Watch = (enqueue: Enqueue) => (() => void) | void

/** A controller, apart from the process that runs it. */
export interface ControllerSpec {
  /** Its name in metrics and logs. */
  readonly name: string
  /** How many keys it reconciles at a time. */
  readonly workers: number
  readonly reconcile: (key: string) => Promise<Outcome>
  /** The object of a key, for the log; undefined when there is none. */
  readonly objectOf: (key: string) => CachedObject | undefined
  /** The stores that reconcile reads: the watches start once all of them have synced. */
  readonly reads: readonly Pick<Store<CachedObject>, 'whenSynced'>[]
  readonly watches: readonly Watch[]
}

/** Shared by all controllers of a process. */
export interface ControllerRuntime {
  readonly clock: Clock
  /** Shares the event loop among all controllers. */
  readonly turns: EventLoopShare
  /** Whether the API server responds: while it does not, no object is reconciled. */
  readonly outage: CircuitBreaker
  readonly log: Log
  readonly metrics: { readonly controller: (name: string) => ControllerMetrics }
}

/** First and longest back-off of a key. */
const BACK_OFF = { baseDelayMs: 100, maxDelayMs: 15_000 }

/** Runs a controller with a queue of its own. */
export function runController(spec: ControllerSpec, runtime: ControllerRuntime): StopController {
  const { clock, outage } = runtime
  const { queue: queueObserver, loop: observer, follow } = runtime.metrics.controller(spec.name)
  const queue = new WorkQueue({ clock, ...BACK_OFF, observer: queueObserver, gate: outage })
  follow(queue)
  const stop = startController({ ...runtime, ...spec, queue, observer })
  const ends: (() => void)[] = []
  const enqueue: Enqueue = (key, priority) => queue.add(key, priority)
  whenAllSynced(spec.reads, () => {
    for (const watch of spec.watches) {
      const end = watch(enqueue)
      if (end) ends.push(end)
    }
  })
  return () => {
    for (const end of ends) end()
    return stop()
  }
}

/**
 * Enqueues the keys that a change of a store concerns.
 *
 * @param keysOf by default the key of the changed object itself
 * @param priorityOf by default `fresh`
 */
export const onChange =
  <T extends CachedObject>(
    store: Store<T>,
    keysOf: (change: StoreChange<T>) => Iterable<string> = ({ key }) => [key],
    priorityOf: (change: StoreChange<T>) => Priority = () => 'fresh',
  ): Watch =>
  (enqueue) =>
    store.subscribe((change) => {
      for (const key of keysOf(change)) enqueue(key, priorityOf(change))
    })

/** Enqueues the keys that a signal of another source concerns. */
export const onSignal =
  <Signal extends readonly unknown[]>(
    source: { readonly subscribe: (listener: (...signal: Signal) => void) => void },
    keysOf: (...signal: Signal) => Iterable<string>,
  ): Watch =>
  (enqueue) =>
    source.subscribe((...signal) => {
      for (const key of keysOf(...signal)) enqueue(key, 'fresh')
    })

/** Calls back once every store has synced. */
function whenAllSynced(
  stores: readonly Pick<Store<CachedObject>, 'whenSynced'>[],
  callback: () => void,
): void {
  let left = stores.length
  for (const store of stores) {
    store.whenSynced(() => {
      left -= 1
      if (left === 0) callback()
    })
  }
}
