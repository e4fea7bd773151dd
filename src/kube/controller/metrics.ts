// The metrics of controllers and their work queues, named as in controller-runtime (contract 8.4).
import type { MetricName } from '../../api/metrics.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import { type ControllerObserver, RECONCILE_RESULTS } from './controller.ts'
import type { QueueObserver } from './work-queue.ts'

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
