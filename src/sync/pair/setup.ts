// The controllers of endpoint sync, one for each kind (contract 16.2, 18).
import { SERVICES } from '../../api/names.ts'
import type { OwnerReference } from '../../api/objects.ts'
import { nestedMap } from '../../domain/json/field-path.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import {
  type ControllerSpec,
  onChange,
  onSignal,
  type Watch,
} from '../../kube/controller/builder.ts'
import { WorkerPlaces } from '../../kube/controller/worker-places.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import { type ObjectSource, objectKey, type StoreChange } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { SyncConfig } from '../config/config.ts'
import type { ImportStates } from '../imports/follow.ts'
import type { AddressSettings } from '../kinds/addresses.ts'
import { isMadeByEndpointsController } from '../kinds/endpoints.ts'
import { TRANSLATORS } from '../kinds/translators.ts'
import { type HostPlace, hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { ownerOf } from '../objects/ownership-marks.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import { hasSelector, isTerminating, type SyncedObject } from '../objects/synced-object.ts'
import { EvaluationMemory } from '../patches/evaluation-cache.ts'
import type { Patch } from '../patches/parse.ts'
import { referencesOf } from '../patches/reference.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { ServedKinds } from '../references/served-kinds.ts'
import type { SandboxEvaluate } from '../sandbox/protocol.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncObserver } from '../writes/observer.ts'
import { WritePace } from '../writes/write-pace.ts'
import { AwaitedNames } from './awaited-names.ts'
import { createReconcile } from './reconcile.ts'
import { beginLookup, dropLookup } from './reference-lookup.ts'
import { type ReportedFailures, SyncReport } from './report.ts'
import type { TranslationSettings } from './translation.ts'
import { WritesWithoutChange } from './unchanged-writes.ts'

/** The owner of host objects. */
export interface HostOwner {
  /** The virtual cluster's own Service; null = it does not exist, and nothing new is written, or none was named. */
  readonly current: () => OwnerReference | null
  /** Whether new host objects may be created: without their owner nothing would clean them up. */
  readonly isReady: () => boolean
  readonly subscribe: (listener: () => void) => void
}

/** Dependencies of the controllers of endpoint sync. */
export interface SyncSetup {
  readonly place: HostPlace
  readonly owner: HostOwner
  readonly addresses: AddressSettings
  readonly config: SyncConfig
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  readonly sources: SyncSources
  readonly references: ReferencedObjects
  readonly imports: ImportStates
  readonly served: ServedKinds
  /** The sandbox's. */
  readonly evaluate: SandboxEvaluate
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  /** The failures of each kind that were reported, in this run and in runs before it. */
  readonly reported: Readonly<Record<SyncedKind, ReportedFailures>>
  readonly observer: (kind: SyncedKind) => SyncObserver
  readonly workers: number
  readonly clock: Clock
  readonly log: Log
}

/** The name of the controller of a kind, in metrics and logs. */
export const controllerName = (kind: SyncedKind): string => `sync-${SYNCED_RESOURCES[kind].plural}`

/** The controller of one kind, and the states of its objects. */
export function syncController(
  kind: SyncedKind,
  setup: SyncSetup,
): { readonly spec: ControllerSpec; readonly report: SyncReport } {
  const { clients, clock, config, owner, place, references, imports, sources } = setup
  const resource = SYNCED_RESOURCES[kind]
  const name = controllerName(kind)
  const { enabled, patches } = config.kinds[kind]
  const [virtual, host] = [sources.virtual[kind], sources.host[kind]]
  const report = new SyncReport({
    kind: resource.kind,
    patches,
    reported: setup.reported[kind],
    events: setup.events,
    observer: setup.observer(kind),
    clock,
    log: setup.log.child({ controller: name }),
  })
  const awaited = new AwaitedNames()
  const places = new WorkerPlaces(setup.workers)
  const reconcile = createReconcile({
    resource,
    virtual: { client: clients.virtual, objects: virtual },
    host: { client: clients.host, objects: host },
    settings: () => settingsOf(kind, setup),
    isEnabled: enabled,
    isReserved: (object) => RESERVED[kind].includes(reservedName(object)),
    isWanted: (object) => isWanted(kind, object, setup),
    isLeftover: (object) => kind === 'endpoints' && isLeftover(object, setup),
    isOpen: sources.access.isOpen,
    isGivenUp: (key) => {
      if (references.isReferenced(kind, key)) return false
      const ref = virtualNameOf(key)
      return virtual.isWaiting(ref) || host.isWaiting(hostNameOf(ref, place))
    },
    mayCreate: ({ namespace }) => owner.isReady() && sources.access.mayCreateIn(namespace),
    forgotten: (key) => {
      const object = virtual.getByKey(key)
      // The controller of imports reads it until it has deleted it.
      const isImport = object !== undefined && imports.isImport(kind, object)
      if (!isImport && !references.isReferenced(kind, key)) references.release(kind, key)
    },
    lookups: {
      begin: (key) => beginLookup({ kind: resource.kind, key }, setup),
      drop: (key) => dropLookup({ kind: resource.kind, key }, setup),
    },
    written: new Map(),
    memory: new EvaluationMemory((request) => setup.evaluate(request, places)),
    awaited,
    noChange: { virtual: new WritesWithoutChange(), host: new WritesWithoutChange() },
    pace: { virtual: new WritePace(clock), host: new WritePace(clock) },
    report,
    clock,
  })
  const ofHostChange = ({ key, before, after }: StoreChange<SyncedObject>): readonly string[] => [
    ...ownersOf([before, after], resource.kind, place),
    ...awaited.waitingFor(key),
  ]
  const seen = (keys: readonly string[]): readonly string[] => {
    for (const key of keys) report.changed(key)
    return keys
  }
  const all = (): readonly string[] => [
    ...[...virtual.values()].map(objectKey),
    ...ownersOf(host.values(), resource.kind, place),
    // Those whose last reference went while this process did not lead are to be released.
    ...references.held(kind),
  ]
  const spec: ControllerSpec = {
    name,
    workers: setup.workers,
    places,
    reconcile,
    objectOf: (key) => virtual.getByKey(key),
    reads: [virtual, host, sources.virtual.services, sources.host.services],
    watches: [
      onChange(virtual, ({ key }) => seen([key])),
      onChange(host, (change) => seen(ofHostChange(change))),
      ...[references, imports].map((source) =>
        onSignal(source, (change) => (change.kind === kind ? [change.key] : [])),
      ),
      onSignal(owner, all),
      ...[sources.access.subscribe, host.subscribeRead].map((subscribe) =>
        onSignal({ subscribe }, (namespace) => keysIn(namespace, virtual)),
      ),
      ...(kind === 'endpoints' ? serviceWatches(setup) : []),
      ...(kind === 'services' ? externalNameWatches(sources) : []),
      ...(patches.some(namesNamespaces) ? [namespaceWatch(virtual, patches, sources)] : []),
      (enqueue) => {
        for (const key of all()) enqueue(key, 'resync')
      },
    ],
  }
  return { spec, report }
}

const keysIn = (namespace: string, objects: ObjectSource<SyncedObject>): readonly string[] =>
  [...objects.values()].filter((object) => object.namespace === namespace).map(objectKey)

/** Endpoints depend on the Services of their name, on both sides (contract 18.1). */
const serviceWatches = ({ sources, place }: SyncSetup): readonly Watch[] => [
  onChange(sources.virtual.services),
  onChange(sources.host.services, ({ before, after }) =>
    ownersOf([before, after], SERVICES.kind, place),
  ),
]

/** The keys of the virtual objects that these host objects are marked with. */
const ownersOf = (
  objects: Iterable<SyncedObject | undefined>,
  kind: string,
  place: HostPlace,
): readonly string[] =>
  [...objects].flatMap((object) => {
    const owner = object && ownerOf(object.object, kind, place)
    return owner ? [objectKey(owner)] : []
  })

/** A Service or a host namespace that comes or goes changes where external names lead (contract 18.6). */
const externalNameWatches = ({ virtual, externalNames, access }: SyncSources): readonly Watch[] => [
  onChange(virtual.services, ({ before, after }) =>
    (before === undefined) === (after === undefined) ? [] : externalNames().map(objectKey),
  ),
  onSignal(access, () => externalNames().map(objectKey)),
]

const namesNamespaces = (patch: Patch): boolean =>
  patch.kind === 'reference' && patch.reference.namespacePath !== null

/** A host namespace that comes or goes changes whether references may lead into it (contract 19.5). */
const namespaceWatch = (
  virtual: ObjectSource<SyncedObject>,
  patches: readonly Patch[],
  { access }: SyncSources,
): Watch =>
  onSignal(access, (namespace) =>
    [...virtual.values()]
      .filter(({ object }) =>
        referencesOf(object, patches).references.some((named) => named.namespace === namespace),
      )
      .map(objectKey),
  )

/** Objects that each cluster has of its own (contract 16.2, 16.3). */
const RESERVED: Readonly<Record<SyncedKind, readonly string[]>> = {
  endpoints: ['default/kubernetes'],
  services: ['default/kubernetes'],
  secrets: [],
  configMaps: ['kube-root-ca.crt'],
}

const reservedName = ({ name, namespace }: SyncedObject): string =>
  name === 'kube-root-ca.crt' ? name : `${namespace}/${name}`

function isWanted(kind: SyncedKind, object: SyncedObject, setup: SyncSetup): boolean {
  const { config, references, imports, sources } = setup
  if (imports.isImport(kind, object)) return false
  if (kind === 'services') return true
  if (kind !== 'endpoints')
    return config.kinds[kind].all || references.isReferenced(kind, objectKey(object))
  const service = sources.virtual.services.getByKey(objectKey(object))
  if (service === undefined || imports.isImport('services', service)) return false
  return !isTerminating(service) && !hasSelector(service)
}

/** Made by the host's endpoints controller for a Service of ours that has lost its selector (contract 18.1). */
function isLeftover({ object, ...ref }: SyncedObject, { sources, place }: SyncSetup): boolean {
  const service = sources.host.services.getByKey(objectKey(ref))
  const isOurs = service !== undefined && ownerOf(service.object, SERVICES.kind, place) !== null
  const metadata = nestedMap(object, ['metadata'])
  return isOurs && !hasSelector(service) && isMadeByEndpointsController(metadata)
}

function settingsOf(
  kind: SyncedKind,
  setup: SyncSetup,
): Omit<TranslationSettings, 'lookups' | 'choosesIpFamilies'> {
  const { place, sources, config } = setup
  const { kinds, withDefaults } = config
  return {
    kind: SYNCED_RESOURCES[kind].kind,
    translator: TRANSLATORS[kind],
    patches: kinds[kind].patches,
    addresses: setup.addresses,
    owner: setup.owner.current(),
    config: withDefaults,
    context: {
      place,
      hasService: (ref) => {
        // Without a host namespace it is not synced: its name there can be another tenant's.
        if (!kinds.services.enabled || !sources.access.isOpen(ref.namespace)) return false
        const service = sources.virtual.services.getByKey(objectKey(ref))
        return service !== undefined && !setup.imports.isImport('services', service)
      },
      ownsHostService: (name) => {
        const service = sources.host.services.getByKey(objectKey(name))
        const isOurs = service && ownerOf(service.object, SERVICES.kind, place) !== null
        return isOurs || sources.hasVirtualServiceFor(name)
      },
    },
  }
}
