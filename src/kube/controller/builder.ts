// Builds a controller from its work queue, watches and reconcile loop, with metrics named as in controller-runtime
// (contract 8.4).
import type { MetricName } from '../../api/metrics.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { Outage } from '../client/circuit-breaker.ts'
import type { CachedObject, ObjectSource, StoreChange } from '../informer/store.ts'
import {
  type ControllerObserver,
  type Outcome,
  RECONCILE_RESULTS,
  type StopController,
  startController,
} from './controller.ts'
import { type Priority, type QueueObserver, WorkQueue } from './work-queue.ts'
import type { WorkerPlaces } from './worker-places.ts'

/** The gauges of a work queue. */
interface QueueGauges {
  readonly depth: number
  readonly longestWorkSeconds: number
  readonly unfinishedWorkSeconds: number
  readonly longestWaitSeconds: number
}

/** Metrics of one controller and its queue. Durations are in seconds. */
export interface ControllerMetrics {
  readonly queue: QueueObserver
  readonly loop: ControllerObserver
  /** Takes the gauges from this queue from now on. */
  readonly follow: (queue: QueueGauges) => void
}

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1000]

/**
 * Registers the metrics of these controllers, all at zero.
 *
 * @param workers how many reconciles each controller runs at a time, by its name
 */
export function controllerMetrics(
  make: Instruments<MetricName>,
  workers: Readonly<Record<string, number>>,
): (name: string) => ControllerMetrics {
  const queues = queueMetrics(make, Object.keys(workers))
  const loops = loopMetrics(make, workers)
  return (name) => ({ ...queues(name), loop: loops(name) })
}

/** Both labels of a queue, as in controller-runtime since 0.19: dashboards use either. */
const labelsOf = (name: string) => ({ name, controller: name })

function queueMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  names: readonly string[],
): (name: string) => Omit<ControllerMetrics, 'loop'> {
  const each = names.map(labelsOf)
  const queuesByName = new Map<string, QueueGauges>()
  gauge('workqueue_depth', each, ({ name }) => queuesByName.get(name)?.depth)
  gauge(
    'workqueue_longest_running_processor_seconds',
    each,
    ({ name }) => queuesByName.get(name)?.longestWorkSeconds,
  )
  gauge(
    'workqueue_unfinished_work_seconds',
    each,
    ({ name }) => queuesByName.get(name)?.unfinishedWorkSeconds,
  )
  gauge(
    'platform_queue_age_seconds',
    each,
    ({ name }) => queuesByName.get(name)?.longestWaitSeconds,
  )
  const adds = counter('workqueue_adds_total', each)
  const retries = counter('workqueue_retries_total', each)
  const waits = histogram('workqueue_queue_duration_seconds', QUEUE_BUCKETS, each)
  const works = histogram('workqueue_work_duration_seconds', QUEUE_BUCKETS, each)
  return (name) => ({
    queue: {
      added: () => adds.inc(labelsOf(name)),
      retried: () => retries.inc(labelsOf(name)),
      waited: (seconds) => waits.observe(labelsOf(name), seconds),
      worked: (seconds) => works.observe(labelsOf(name), seconds),
    },
    follow: (queue) => void queuesByName.set(name, queue),
  })
}

function loopMetrics(
  { counter, gauge, histogram }: Instruments<MetricName>,
  workers: Readonly<Record<string, number>>,
): (controller: string) => ControllerMetrics['loop'] {
  const each = Object.keys(workers).map((controller) => ({ controller }))
  const withResult = each.flatMap((labels) =>
    RECONCILE_RESULTS.map((result) => ({ ...labels, result })),
  )
  const total = counter('controller_runtime_reconcile_total', withResult)
  const errors = counter('controller_runtime_reconcile_errors_total', each)
  const times = histogram('controller_runtime_reconcile_time_seconds', RECONCILE_BUCKETS, each)
  const active = gauge('controller_runtime_active_workers', each)
  gauge(
    'controller_runtime_max_concurrent_reconciles',
    each,
    (labels) => workers[labels.controller],
  )
  return (controller) => ({
    started: () => active.inc({ controller }),
    finished: (result, seconds) => {
      active.dec({ controller })
      total.inc({ controller, result })
      if (result === 'error') errors.inc({ controller })
      times.observe({ controller }, seconds)
    },
  })
}

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
  readonly reconcile: (key: string) => Promise<Outcome>
  /** The object of a key, for the log; undefined when there is none. */
  readonly objectOf: (key: string) => CachedObject | undefined
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
