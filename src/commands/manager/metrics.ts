// The metrics of the manager (contract 8.4), composed from the metrics of its parts. Each series exists from the start.
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import { CONFIG_MAPS, CONTROLLER_NAME, EVENTS, LEASES } from '../../api/names.ts'
import {
  type KeySources,
  exportKeyExpiry,
  keyEndsText,
} from '../../controllers/ownedaccesskey/metrics.ts'
import type { SigningKeySources } from '../../controllers/signingkey/metrics.ts'
import type { People } from '../../domain/people/people.ts'
import { NOTHING_OVERDUE, type Overdue } from '../../domain/time.ts'
import type { AllOf, ObjectCounts } from '../../kube/controller/definition.ts'
import { type ControllerMetrics, controllerMetrics } from '../../kube/controller/metrics.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import { LEASE_WRITE_REASONS } from '../../kube/leader-election/elector.ts'
import { REVOCATION_WRITE_REASONS, type RevocationList } from '../../revocation/revocation-list.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { shareRun } from '../../runtime/concurrency/single-flight.ts'
import {
  type Instruments,
  instruments,
  processRegistry,
  type Scrape,
} from '../../runtime/metrics.ts'
import type { FollowedCaps } from '../../settings/caps.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { type ClientLabels, type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import { leaderMetrics } from '../shared/leadership.ts'
import { CONTROLLERS } from './controllers.ts'
import type { ManagerSettings } from './flags.ts'
import { type Stores, WATCHED } from './informers.ts'

/** The values of labels, which are closed sets. */
interface MetricLabels extends ClientLabels {
  /** Names of the controllers, with the number of reconciles that each runs at a time. */
  readonly controllers: Readonly<Record<string, number>>
  /** Name of the Lease of leader election. */
  readonly lease: string
  /** The kinds whose objects are counted by state. */
  readonly counted: readonly CountedKind[]
  /** Whether there is a series for each key (`--per-object-metrics`). */
  readonly perObject: boolean
}

/** A kind, the gauge with the number of its objects, and its label values. */
interface CountedKind {
  readonly kind: string
  readonly metric: MetricName
  readonly states: readonly string[]
  /** Whether its objects expire. */
  readonly expires: boolean
}

/** The counts of the controllers that count objects. */
const COUNTED = CONTROLLERS.flatMap((controller) =>
  'counts' in controller ? [controller.counts] : [],
)

/** Sources that each scrape reads. All except refresh and keyEnds are called often, so they must be cheap. */
interface MetricSources extends KeySources, SigningKeySources {
  /** Counts the objects again; each scrape waits for that. */
  readonly refresh: () => Promise<void>
  /** The counts of the objects of a kind; undefined = they are not counted yet. */
  readonly counts: (kind: string) => ObjectCounts | undefined
  /** Number of tokens that are recorded as revoked and have not expired. */
  readonly revokedTokens: () => number
  /** Revoked tokens whose record is not stored yet: their number, and the longest wait. */
  readonly revocationBacklog: () => Overdue
}

/** The methods of all controllers' metrics. */
type ControllersMetrics = AllOf<ReturnType<(typeof CONTROLLERS)[number]['metrics']>>

/** The metrics of the manager, with a method for each event that they count. */
export interface ManagerMetrics extends ClientMetrics, ControllersMetrics {
  /** The metrics of the controller of this name, which is one of `labels.controllers`. */
  readonly controller: (name: string) => ControllerMetrics
  readonly leads: (isLeader: boolean) => void
  /** Sets the sources that each scrape reads the gauges of state from. */
  readonly follow: (sources: MetricSources) => void
  readonly scrape: Scrape
}

/** Creates the metrics, all at zero, in a registry of their own. */
export function createMetrics(labels: MetricLabels): ManagerMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  let sources = NO_SOURCES
  objectMetrics(make, labels, () => sources)
  revocationMetrics(make, () => sources)
  const ofControllers: ControllersMetrics = Object.assign(
    {},
    ...CONTROLLERS.map(({ metrics }) => metrics({ make, registry, sources: () => sources })),
  )
  return {
    controller: controllerMetrics(make, labels.controllers),
    ...clientMetrics(make, labels),
    ...leaderMetrics(make, labels.lease),
    ...ofControllers,
    follow: (from) => {
      sources = from
    },
    scrape: async () => {
      await sources.refresh()
      const { contentType, body } = await scrape()
      return { contentType, body: labels.perObject ? body + (await keyEndsText(sources)) : body }
    },
  }
}

/** The sources of a standby replica: only the leader counts. */
const NO_SOURCES: MetricSources = {
  refresh: () => Promise.resolve(),
  counts: () => undefined,
  keyEnds: () => Promise.resolve(),
  signingKeys: () => [],
  signingKeyFaults: () => 0,
  revokedTokens: () => 0,
  revocationBacklog: () => NOTHING_OVERDUE,
}

function objectMetrics(
  { gauge }: Instruments<MetricName>,
  { counted }: MetricLabels,
  sources: () => MetricSources,
): void {
  for (const { kind, metric, states } of counted) {
    const labels = states.map((state) => ({ state }))
    gauge(metric, labels, ({ state }) => sources().counts(kind)?.byState[state])
  }
  const kinds = counted.filter(({ expires }) => expires).map(({ kind }) => ({ kind }))
  gauge('platform_lifetimes_capped', kinds, ({ kind }) => sources().counts(kind)?.capped)
  const overdue = (kind: string): Overdue => sources().counts(kind)?.overdue ?? NOTHING_OVERDUE
  gauge('platform_expirations_overdue', kinds, ({ kind }) => overdue(kind).count)
  gauge('platform_expirations_overdue_seconds', kinds, ({ kind }) => overdue(kind).longestMs / 1000)
}

function revocationMetrics({ gauge }: Instruments<MetricName>, sources: () => MetricSources): void {
  gauge('platform_revoked_tokens', [{}], () => sources().revokedTokens())
  const backlog = (): Overdue => sources().revocationBacklog()
  gauge('platform_revocation_backlog', [{}], () => backlog().count)
  gauge('platform_revocation_backlog_seconds', [{}], () => backlog().longestMs / 1000)
}

/** Creates the manager's metrics with the values of their labels. */
export function createManagerMetrics(settings: ManagerSettings): ManagerMetrics {
  const workers = CONTROLLERS.map(({ name, workers: of }) => [name, of(settings)] as const)
  return createMetrics({
    controllers: Object.fromEntries(workers),
    lease: CONTROLLER_NAME,
    writes: writeReasons(),
    counted: COUNTED,
    watches: WATCHED.map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    perObject: settings.perObjectMetrics,
  })
}

/** The reasons of writes by kind, of the controllers and of the parts that they share. */
function writeReasons(): Readonly<Record<string, readonly string[]>> {
  const writes: Record<string, readonly string[]> = {
    [CONFIG_MAPS.kind]: REVOCATION_WRITE_REASONS,
    [EVENTS.kind]: EVENT_WRITE_REASONS,
    [LEASES.kind]: LEASE_WRITE_REASONS,
  }
  for (const controller of CONTROLLERS) {
    for (const [kind, reasons] of Object.entries<readonly string[]>(controller.writes))
      writes[kind] = [...(writes[kind] ?? []), ...reasons]
  }
  return writes
}

/** Dependencies of countObjects. */
interface CountsOptions {
  readonly stores: Pick<Stores, 'keys' | 'tokens' | 'users' | 'teams'>
  readonly people: People
  readonly caps: FollowedCaps
  readonly clock: Clock
  readonly eventLoop: EventLoopShare
  readonly keyring: Keyring
  readonly revocations: RevocationList
}

/** Scrapes within this time get the same counts, because a walk over all objects is expensive. */
const COUNT_AGAIN_AFTER_MS = 1000

/** Counts the objects of this process's stores. Only the leader calls this: a standby would count each object again. */
export function countObjects({
  stores,
  people,
  caps,
  clock,
  eventLoop,
  keyring,
  revocations,
}: CountsOptions): MetricSources {
  let counts: Readonly<Record<string, ObjectCounts>> = {}
  let countedMs = Number.NEGATIVE_INFINITY
  const count = shareRun(async (): Promise<void> => {
    const currentCaps = caps.current()
    if (!currentCaps || clock.monotonicMs() - countedMs <= COUNT_AGAIN_AFTER_MS) return
    const input = { stores, people, caps: currentCaps, nowMs: clock.nowMs(), eventLoop }
    const counted = COUNTED.map(async ({ kind, count: of }) => [kind, await of(input)] as const)
    counts = Object.fromEntries(await Promise.all(counted))
    countedMs = clock.monotonicMs()
  })
  return {
    refresh: count,
    counts: (kind) => counts[kind],
    keyEnds: async (report) => {
      const currentCaps = caps.current()
      if (currentCaps)
        await exportKeyExpiry(stores.keys, currentCaps, clock.nowMs(), eventLoop, report)
    },
    signingKeys: () => keyring.lives(),
    signingKeyFaults: () => keyring.faults().length,
    revokedTokens: () => revocations.countAt(clock.nowMs()),
    revocationBacklog: () => revocations.backlog(),
  }
}
