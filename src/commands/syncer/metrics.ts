// The metrics of the syncer (contract 20).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { EVENTS, LEASES, NAMESPACES } from '../../api/names.ts'
import { type ControllerMetrics, controllerMetrics } from '../../kube/controller/metrics.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import { LEASE_WRITE_REASONS } from '../../kube/leader-election/elector.ts'
import {
  type Instruments,
  instruments,
  processRegistry,
  type Scrape,
} from '../../runtime/metrics.ts'
import { IMPORTS_CONTROLLER } from '../../sync/imports/setup.ts'
import { NAMESPACE_ERROR_REASONS, type NamespaceErrorReason } from '../../sync/namespaces/report.ts'
import { NAMESPACE_CONTROLLER, NAMESPACE_WORKERS } from '../../sync/namespaces/setup.ts'
import { NAMESPACE_WRITE_REASONS } from '../../sync/namespaces/writes.ts'
import { SYNCED_KINDS, SYNCED_RESOURCES, type SyncedKind } from '../../sync/objects/synced-kinds.ts'
import { controllerName } from '../../sync/pair/setup.ts'
import { OBJECT_STATES } from '../../sync/pair/state.ts'
import { SYNC_WRITE_REASONS } from '../../sync/pair/writes.ts'
import type { SandboxEvaluate } from '../../sync/sandbox/protocol.ts'
import { DIRECTIONS, ERROR_REASONS, type SyncObserver } from '../../sync/writes/observer.ts'
import { type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import { leaderMetrics } from '../shared/leadership.ts'
import type { SyncerSettings } from './flags.ts'

/** Results of an evaluation as in platform_patch_evaluations_total. */
const RESULTS = { value: 'value', remove: 'removed', failed: 'error' } as const

/** The metrics of the syncer, with a method for each event that they count. */
export interface SyncerMetrics extends ClientMetrics {
  readonly controller: (name: string) => ControllerMetrics
  readonly leads: (isLeader: boolean) => void
  readonly configIsValid: (isValid: boolean) => void
  readonly observer: (kind: SyncedKind) => SyncObserver
  /** Counts an Event about a namespace. */
  readonly namespaceFailed: (reason: NamespaceErrorReason) => void
  /** Wraps `evaluate` so that its evaluations are counted and timed. */
  readonly timed: (evaluate: SandboxEvaluate) => SandboxEvaluate
  /** Sets the source that each scrape reads the states of objects from. */
  readonly follow: (countByState: (kind: SyncedKind) => Readonly<Record<string, number>>) => void
  readonly scrape: Scrape
}

/** Name of the Lease of a virtual cluster's syncer. */
export const leaseName = (virtualCluster: string): string => `syncer-${virtualCluster}`

/** Creates the metrics, all at zero, in a registry of their own. */
export function createSyncerMetrics({ workers, virtualCluster }: SyncerSettings): SyncerMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  const written = SYNCED_KINDS.map(
    (kind) => [SYNCED_RESOURCES[kind].kind, SYNC_WRITE_REASONS] as const,
  )
  const client = clientMetrics(make, {
    writes: {
      ...Object.fromEntries(written),
      [NAMESPACES.kind]: NAMESPACE_WRITE_REASONS,
      [EVENTS.kind]: EVENT_WRITE_REASONS,
      [LEASES.kind]: LEASE_WRITE_REASONS,
    },
    watches: [...SYNCED_KINDS.map((kind) => SYNCED_RESOURCES[kind].plural), NAMESPACES.plural],
    watchRestartReasons: RESTART_REASONS,
  })
  const valid = make.gauge('platform_sync_config_valid', [{}])
  return {
    ...client,
    ...leaderMetrics(make, leaseName(virtualCluster)),
    ...objectMetrics(make),
    controller: controllerMetrics(
      make,
      // Gauges of a controller that does not run stay at zero: the mode may change without a restart.
      {
        ...Object.fromEntries(
          [...SYNCED_KINDS.map(controllerName), IMPORTS_CONTROLLER].map((name) => [name, workers]),
        ),
        [NAMESPACE_CONTROLLER]: NAMESPACE_WORKERS,
      },
    ),
    configIsValid: (isValid) => valid.set(isValid ? 1 : 0),
    timed: evaluationMetrics(make),
    scrape,
  }
}

const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

function objectMetrics({
  counter,
  gauge,
  histogram,
}: Instruments<MetricName>): Pick<SyncerMetrics, 'observer' | 'namespaceFailed' | 'follow'> {
  const kinds = SYNCED_KINDS.map((kind) => ({ kind: SYNCED_RESOURCES[kind].kind }))
  const each = <Label extends string>(label: Label, values: readonly string[]) =>
    kinds.flatMap(({ kind }) =>
      values.map((value) => ({ kind, [label]: value }) as Record<'kind' | Label, string>),
    )
  const counts = new Map<string, () => Readonly<Record<string, number>>>()
  gauge(
    'platform_sync_objects',
    each('state', OBJECT_STATES),
    ({ kind, state }) => counts.get(kind)?.()[state],
  )
  const writes = counter('platform_sync_writes_total', each('direction', DIRECTIONS))
  const errors = counter('platform_sync_errors_total', [
    ...each('reason', ERROR_REASONS),
    ...NAMESPACE_ERROR_REASONS.map((reason) => ({ kind: NAMESPACES.kind, reason })),
  ])
  const lag = histogram('platform_sync_lag_seconds', LAG_BUCKETS, [{}])
  return {
    follow: (countByState) => {
      for (const kind of SYNCED_KINDS)
        counts.set(SYNCED_RESOURCES[kind].kind, () => countByState(kind))
    },
    namespaceFailed: (reason) => errors.inc({ kind: NAMESPACES.kind, reason }),
    observer: (syncedKind) => {
      const { kind } = SYNCED_RESOURCES[syncedKind]
      return {
        wrote: (direction) => writes.inc({ kind, direction }),
        failed: (reason) => errors.inc({ kind, reason }),
        caughtUp: (seconds) => lag.observe(seconds),
      }
    },
  }
}

const PATCH_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

function evaluationMetrics({
  counter,
  histogram,
}: Instruments<MetricName>): SyncerMetrics['timed'] {
  const results = Object.values(RESULTS).map((result) => ({ result }))
  const evaluations = counter('platform_patch_evaluations_total', results)
  const times = histogram('platform_patch_seconds', PATCH_BUCKETS, [{}])
  return (evaluate) => async (request, place) => {
    const stop = times.startTimer()
    const result = await evaluate(request, place)
    stop()
    evaluations.inc({ result: RESULTS[result.kind] })
    return result
  }
}
