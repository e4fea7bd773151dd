// One run of endpoint sync with one configuration: informers, references and controllers. Another configuration is
// another run, so that no part works with old settings.
import { SERVICES } from '../api/names.ts'
import type { OwnerReference } from '../api/objects.ts'
import type { NamespaceContent } from '../kube/client/namespace-content.ts'
import {
  type ControllerRuntime,
  type ControllerSpec,
  runController,
} from '../kube/controller/builder.ts'
import type { StopController } from '../kube/controller/controller.ts'
import { createInformerFactory, type InformerFactory } from '../kube/informer/informers.ts'
import { type ObjectSource, objectKey } from '../kube/informer/store.ts'
import type { SyncConfig } from './config/config.ts'
import { followImports } from './imports/follow.ts'
import { importsController } from './imports/setup.ts'
import { namespaceController } from './namespaces/setup.ts'
import { type NamespaceErrorReason, namespaceReport } from './namespaces/report.ts'
import type { NamespaceStores } from './namespaces/sources.ts'
import type { HostPlace } from './objects/host-name.ts'
import { SYNCED_KINDS, type SyncedKind } from './objects/synced-kinds.ts'
import { isTerminating, type SyncedObject } from './objects/synced-object.ts'
import type { HostOwner } from './pair/scope.ts'
import { type SyncSetup, syncController } from './pair/setup.ts'
import { followReferences, type ReferencedObjects } from './references/follow.ts'
import { type SyncSources, startSources } from './sources.ts'

/** Dependencies of all runs of a process. */
export interface RunOptions
  extends Omit<SyncSetup, 'config' | 'place' | 'owner' | 'sources' | 'references' | 'imports'>,
    Omit<ControllerRuntime, 'clock'> {
  readonly virtualCluster: string
  readonly hostNamespace: string
  /** Name of the virtual cluster's own Service in the host namespace; null = host objects have no owner. */
  readonly serviceName: string | null
  /** Reads the content of the host's namespaces. */
  readonly hostContent: NamespaceContent
  /** Counts an Event about a namespace. */
  readonly namespaceFailed: (reason: NamespaceErrorReason) => void
  /** As in InformerFactoryOptions. */
  readonly restarted: (plural: string, reason: string) => void
}

/** A run of endpoint sync. */
export interface SyncRun extends Pick<InformerFactory, 'unserved' | 'stuck'> {
  readonly stores: SyncSources['stores']
  /** Starts the controllers, which write. A process that does not lead only reads. */
  readonly lead: () => void
  /** The number of objects in each state. Iterates over all objects. */
  readonly countByState: (kind: SyncedKind) => Readonly<Record<string, number>>
  /** Ends the informers and controllers. Resolves when the reconciles in flight have finished. */
  readonly stop: () => Promise<void>
}

/** Starts to read both clusters. */
export function startRun(config: SyncConfig, options: RunOptions): SyncRun {
  const { virtualCluster, hostNamespace } = options
  const place: HostPlace = { virtualCluster, hostNamespace, namespaces: config.namespaces }
  const ending = new AbortController()
  const factories = {
    virtual: informersOf('virtual', options, ending.signal),
    host: informersOf('host', options, ending.signal),
  }
  const setup = startReading({ config, place, factories }, options)
  const { sources } = setup
  const controllers = SYNCED_KINDS.map((kind) => ({ kind, ...syncController(kind, setup) }))
  const namespaces = sources.namespaces && namespaceSpec(sources.namespaces, place, options)
  const specs = [
    ...controllers.map(({ spec }) => spec),
    importsController(setup),
    ...(namespaces ? [namespaces] : []),
  ]
  let stops: readonly StopController[] = []
  let isStopping = false
  return {
    stores: sources.stores,
    unserved: () => [...factories.virtual.unserved(), ...factories.host.unserved()],
    stuck: () => [...factories.virtual.stuck(), ...factories.host.stuck()],
    lead: () => {
      // The next run leads: controllers that start now would work with outdated settings, and nothing would stop them.
      if (isStopping) return
      stops = specs.map((spec) => runController(spec, options))
    },
    countByState: (kind) =>
      controllers.find((one) => one.kind === kind)?.report.countByState() ?? {},
    stop: async () => {
      isStopping = true
      await Promise.all(stops.map((stop) => stop()))
      ending.abort()
    },
  }
}

const informersOf = (
  side: 'virtual' | 'host',
  { clients, clock, log, restarted }: RunOptions,
  signal: AbortSignal,
): InformerFactory =>
  createInformerFactory({
    client: clients[side],
    clock,
    log: log.child({ cluster: side }),
    restarted,
    signal,
  })

/** The parts of one run that its sources depend on. */
interface RunParts {
  readonly config: SyncConfig
  readonly place: HostPlace
  readonly factories: { readonly virtual: InformerFactory; readonly host: InformerFactory }
}

/** Starts the informers, and follows references and imports. */
function startReading({ config, place, factories }: RunParts, options: RunOptions): SyncSetup {
  const sources = startSources(config, place, {
    virtual: factories.virtual.startInformer,
    host: factories.host.startInformer,
    log: options.log,
  })
  const references: ReferencedObjects = followReferences(config, place, sources)
  return {
    place,
    owner: hostOwner(sources.host.services, place, options),
    config,
    sources,
    references,
    imports: followImports(place, sources, references),
    addresses: options.addresses,
    clients: options.clients,
    served: options.served,
    evaluate: options.evaluate,
    events: options.events,
    reported: options.reported,
    observer: options.observer,
    workers: options.workers,
    clock: options.clock,
  }
}

function namespaceSpec(
  stores: NamespaceStores,
  place: HostPlace,
  { clients, clock, events, hostContent: content, namespaceFailed: failed }: RunOptions,
): ControllerSpec {
  const report = namespaceReport({ events, failed })
  return namespaceController({ place, clients, stores, content, report, clock })
}

/** Owner references can't cross namespaces: in multi-namespace mode there are none (contract 17.4, 17.5). */
function hostOwner(
  services: ObjectSource<SyncedObject>,
  { namespaces, hostNamespace: namespace }: HostPlace,
  { serviceName: name, log }: Pick<RunOptions, 'serviceName' | 'log'>,
): HostOwner {
  if (name === null || namespaces !== null)
    return { current: () => null, isReady: () => true, subscribe: () => undefined }
  const key = objectKey({ namespace, name })
  const service = (): SyncedObject | null => {
    const found = services.getByKey(key)
    return found && !isTerminating(found) ? found : null
  }
  const current = (): OwnerReference | null => {
    const found = service()
    const { kind, version: apiVersion } = SERVICES
    return found && { apiVersion, kind, name, uid: found.uid }
  }
  services.whenSynced(() => {
    if (service() === null)
      log.warn(
        { service: name, namespace },
        "the virtual cluster's own Service does not exist, waiting: host objects would have no owner",
      )
  })
  return {
    current,
    isReady: () => service() !== null,
    subscribe: (listener) =>
      services.subscribe((change) => {
        const hasMoved = change.before?.uid !== change.after?.uid
        const isEnding = change.after !== undefined && isTerminating(change.after)
        if (change.key === key && (hasMoved || isEnding)) listener()
      }),
  }
}
