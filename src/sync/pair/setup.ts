// The controllers of endpoint sync, one for each kind (contract 16.2, 18).
import type { KubeClient } from '../../kube/client/client.ts'
import type { ControllerSpec } from '../../kube/controller/builder.ts'
import { WorkerPlaces } from '../../kube/controller/worker-places.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { AddressSettings } from '../kinds/addresses.ts'
import { TRANSLATORS } from '../kinds/translators.ts'
import { virtualNameOf } from '../objects/host-name.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { Patch } from '../patches/parse.ts'
import type { ServedKinds } from '../references/served-kinds.ts'
import type { SandboxEvaluate } from '../sandbox/protocol.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { WritePace } from '../writes/write-pace.ts'
import { createReconcile } from './reconcile.ts'
import { NO_LOOKUPS, type PairLookups, pairLookups } from './reference-lookup.ts'
import { type ReportedFailures, SyncReport } from './report.ts'
import { pairScope, pairWatches, type ScopeDeps, serviceContext } from './scope.ts'
import { PairStates } from './state.ts'
import type { KindSettings } from './translation.ts'
import type { ClusterSide } from './writes.ts'

/** Dependencies of the controllers of endpoint sync. */
export interface SyncSetup extends ScopeDeps {
  readonly addresses: AddressSettings
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  readonly served: ServedKinds
  /** Evaluates expressions in the sandbox. */
  readonly evaluate: SandboxEvaluate
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  /** The reported failures of each kind, of this run and of earlier runs of the process. */
  readonly reported: Readonly<Record<SyncedKind, ReportedFailures>>
  readonly observer: (kind: SyncedKind) => SyncObserver
  readonly workers: number
  readonly clock: Clock
}

/** The name of the controller of a kind, in metrics and logs. */
export const controllerName = (kind: SyncedKind): string => `sync-${SYNCED_RESOURCES[kind].plural}`

/** The controller of one kind, and the report of its objects. */
export function syncController(
  kind: SyncedKind,
  setup: SyncSetup,
): { readonly spec: ControllerSpec; readonly report: SyncReport } {
  const { clock, config, imports, owner, place, references, sources } = setup
  const { patches } = config.kinds[kind]
  const [virtual, host] = [sources.virtual[kind], sources.host[kind]]
  const states = new PairStates()
  const report = pairReport(kind, states, setup)
  const places = new WorkerPlaces(setup.workers)
  const sideOf = (side: 'virtual' | 'host'): ClusterSide => ({
    client: setup.clients[side],
    objects: sources[side][kind],
    pace: new WritePace(clock),
  })
  const spec: ControllerSpec = {
    name: controllerName(kind),
    workers: setup.workers,
    places,
    reconcile: createReconcile({
      resource: SYNCED_RESOURCES[kind],
      translator: TRANSLATORS[kind],
      virtual: sideOf('virtual'),
      host: sideOf('host'),
      settings: kindSettings(kind, setup),
      owner: owner.current,
      scope: pairScope(kind, setup),
      lookups: lookupsOf(kind, patches, setup),
      evaluate: (request) => setup.evaluate(request, places),
      states,
      report,
      clock,
    }),
    objectOf: (key) => virtual.getByKey(key) ?? virtualNameOf(key),
    reads: [virtual, host, sources.virtual.services, sources.host.services],
    watches: pairWatches(kind, {
      place,
      owner,
      config,
      sources,
      references,
      imports,
      changed: (key) => report.changed(key),
      waitingFor: (hostKey) => states.waitingFor(hostKey),
    }),
  }
  return { spec, report }
}

const pairReport = (kind: SyncedKind, states: PairStates, setup: SyncSetup): SyncReport =>
  new SyncReport({
    kind: SYNCED_RESOURCES[kind].kind,
    patches: setup.config.kinds[kind].patches,
    states,
    reported: setup.reported[kind],
    events: setup.events,
    observer: setup.observer(kind),
    clock: setup.clock,
  })

const kindSettings = (kind: SyncedKind, setup: SyncSetup): KindSettings => ({
  kind: SYNCED_RESOURCES[kind].kind,
  translator: TRANSLATORS[kind],
  patches: setup.config.kinds[kind].patches,
  addresses: setup.addresses,
  config: setup.config.withDefaults,
  context: { place: setup.place, ...serviceContext(setup) },
})

const lookupsOf = (kind: SyncedKind, patches: readonly Patch[], setup: SyncSetup): PairLookups =>
  patches.some((patch) => patch.kind === 'reference')
    ? pairLookups(SYNCED_RESOURCES[kind].kind, setup)
    : NO_LOOKUPS
