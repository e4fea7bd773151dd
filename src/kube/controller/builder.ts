// Builds a controller from its work queue, watches and reconcile loop.
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { Outage } from '../client/circuit-breaker.ts'
import type { CachedObject, ObjectSource, StoreChange } from '../informer/store.ts'
import { type StopController, startController } from './controller.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { Outcome } from './outcome.ts'
import type { LoggedObject, ReconcileContext } from './reconcile-context.ts'
import { type Priority, WorkQueue } from './work-queue.ts'
import type { WorkerPlaces } from './worker-places.ts'

/** Adds a key to the queue of a controller. */
type Enqueue = (key: string, priority: Priority) => void

/**
 * Starts a source that enqueues keys.
 *
 * @returns stops the source when the controller stops; nothing = the source runs until the process ends
 */
export type Watch = (enqueue: Enqueue) => (() => void) | void

/** The definition of a controller, without the parts that all controllers of a process share. */
export interface ControllerSpec {
  /** Its name in metrics and logs. */
  readonly name: string
  /** How many keys it reconciles at a time. */
  readonly workers: number
  /** As in ControllerOptions; absent = no reconcile leaves its place. */
  readonly places?: WorkerPlaces
  /**
   * How many of them may be busy with resyncs; one, while anything else has work. Absent = all, whatever else there is.
   */
  readonly resyncsAtOnce?: number
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<Outcome>
  /** The object of a key, for the log; undefined = the key is its name. */
  readonly objectOf: (key: string) => LoggedObject | undefined
  /** The stores that reconcile reads: the watches start once all of them have synced. */
  readonly reads: readonly Pick<ObjectSource<CachedObject>, 'whenSynced'>[]
  readonly watches: readonly Watch[]
}

/**
 * A quarter of the workers, as resyncsAtOnce: with all of them, the first new object would wait behind 16 writes, and four
 * are as many as a small API server does at a time.
 */
export const fewResyncs = (workers: number): number => Math.ceil(workers / 4)

/** Shared by all controllers of a process. */
export interface ControllerRuntime {
  readonly clock: Clock
  /** Lets reconciles yield to the event loop. */
  readonly eventLoop: EventLoopShare
  /** Pauses all reconciles while the API server does not respond. */
  readonly outage: Outage
  readonly log: Log
  readonly metrics: { readonly controller: (name: string) => ControllerMetrics }
}

/** First and longest back-off of a key. */
const BACK_OFF = { baseDelayMs: 100, maxDelayMs: 15_000 }

/** Starts a controller with a work queue of its own. */
export function runController(spec: ControllerSpec, runtime: ControllerRuntime): StopController {
  const { clock, outage } = runtime
  const { queue: queueObserver, loop: observer, follow } = runtime.metrics.controller(spec.name)
  const queue = new WorkQueue({
    clock,
    ...BACK_OFF,
    resyncsAtOnce: spec.resyncsAtOnce ?? null,
    observer: queueObserver,
    gate: outage,
  })
  follow(queue)
  const stopController = startController({
    ...runtime,
    ...spec,
    places: spec.places ?? null,
    queue,
    observer,
  })
  const stops: (() => void)[] = []
  const enqueue: Enqueue = (key, priority) => queue.add(key, priority)
  whenAllSynced(spec.reads, () => {
    for (const watch of spec.watches) {
      const stopWatch = watch(enqueue)
      if (stopWatch) stops.push(stopWatch)
    }
  })
  return () => {
    for (const stopWatch of stops) stopWatch()
    return stopController()
  }
}

/**
 * A watch that enqueues keys for each change of a store.
 *
 * @param keysOf by default the key of the changed object
 * @param priorityOf by default `change`
 */
export const onChange =
  <T extends CachedObject>(
    store: Pick<ObjectSource<T>, 'subscribe'>,
    keysOf: (change: StoreChange<T>) => Iterable<string> = ({ key }) => [key],
    priorityOf: (change: StoreChange<T>) => Priority = () => 'change',
  ): Watch =>
  (enqueue) =>
    store.subscribe((change) => {
      for (const key of keysOf(change)) enqueue(key, priorityOf(change))
    })

/** A watch that enqueues keys for each signal of another source. */
export const onSignal =
  <Signal extends readonly unknown[]>(
    source: { readonly subscribe: (listener: (...signal: Signal) => void) => void },
    keysOf: (...signal: Signal) => Iterable<string>,
  ): Watch =>
  (enqueue) =>
    source.subscribe((...signal) => {
      for (const key of keysOf(...signal)) enqueue(key, 'change')
    })

/** Calls back once every store has synced. */
function whenAllSynced(
  stores: readonly Pick<ObjectSource<CachedObject>, 'whenSynced'>[],
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
