// The objects of both clusters that endpoint sync reads, and the informers that keep them current (contract 16.2, 20).
import { SERVICES } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { nestedMap, nestedString } from '../domain/json/field-path.ts'
import type { ObjectRef } from '../kube/client/client.ts'
import type { InformerFactory } from '../kube/informer/informers.ts'
import { watchByName } from '../kube/informer/named-informers.ts'
import { objectKey, Store } from '../kube/informer/store.ts'
import type { Log } from '../runtime/log.ts'
import type { SyncConfig } from './config/config.ts'
import { isImportable } from './kinds/imported-copy.ts'
import {
  type HostAccess,
  hostNamespaceSources,
  type NamespaceStores,
  type PartialSource,
  SINGLE_NAMESPACE,
  startNamespaces,
} from './namespaces/sources.ts'
import { type HostPlace, hostNameOf } from './objects/host-name.ts'
import { forEachKind, KINDS, SYNCED_RESOURCES, type SyncedKind } from './objects/synced-kinds.ts'
import { type SyncedObject, syncedObject } from './objects/synced-object.ts'

/** The objects of the synced kinds in one cluster. */
type SyncedObjects = Readonly<Record<SyncedKind, PartialSource>>

/** The objects of both clusters. */
export interface SyncSources {
  readonly virtual: SyncedObjects
  readonly host: SyncedObjects
  /** Host objects that can be imported, by their own names: no virtual object has these names there (contract 19.5). */
  readonly candidates: SyncedObjects
  /** null = single-namespace mode. */
  readonly namespaces: NamespaceStores | null
  readonly access: HostAccess
  /** Whether a Service of the virtual cluster has this name on the host, in a host namespace that belongs to it. */
  readonly hasVirtualServiceFor: (host: Required<ObjectRef>) => boolean
  /** The Services of the virtual cluster with type ExternalName (contract 18.6). */
  readonly externalNames: () => readonly SyncedObject[]
  /** The collections that are read as a whole, for the readiness check. */
  readonly stores: Readonly<Record<string, { readonly synced: boolean }>>
}

/** Services by their names on the host, which may be the same for two of them (contract 17.1). */
const BY_HOST_NAME = 'host-name'
/** Services by their types. */
const BY_TYPE = 'type'

/** How the informers of both clusters are started. */
interface StartInformers {
  readonly virtual: InformerFactory['startInformer']
  readonly host: InformerFactory['startInformer']
  readonly log: Log
}

/** Starts the informers of both clusters. Secrets and ConfigMaps are read one by one unless all of them are synced. */
export function startSources(
  { kinds }: SyncConfig,
  place: HostPlace,
  start: StartInformers,
): SyncSources {
  const services = virtualServices(place)
  const starter = new SourceStarter(place, start, services)
  const namespaces = place.namespaces === null ? null : startNamespaces(place, start)
  const { host: startInformer, log } = start
  const several =
    namespaces && hostNamespaceSources({ stores: namespaces, place, startInformer, log })
  const isWhole = (kind: SyncedKind): boolean => isReadWhole(kind, kinds)
  const hostSource = (kind: SyncedKind): PartialSource => {
    const resource = SYNCED_RESOURCES[kind]
    if (several === null)
      return isWhole(kind) ? starter.whole(kind, 'host') : starter.named(kind, 'host')
    return isWhole(kind)
      ? several.whole(resource)
      : several.named(resource, syncedObject(resource.kind))
  }
  const host = forEachKind(hostSource)
  // A source of their own beside the host objects of virtual ones: each is released when nothing needs it any more.
  const candidateSource = (kind: SyncedKind): PartialSource => {
    if (isWhole(kind)) return host[kind]
    const project = offeredObject(SYNCED_RESOURCES[kind].kind, place)
    return several?.named(SYNCED_RESOURCES[kind], project) ?? starter.named(kind, 'host', project)
  }
  const access = several ?? SINGLE_NAMESPACE
  return {
    virtual: forEachKind((kind) =>
      isWhole(kind) ? starter.whole(kind, 'virtual') : starter.named(kind, 'virtual'),
    ),
    host,
    candidates: forEachKind(candidateSource),
    namespaces,
    access,
    hasVirtualServiceFor: (name) =>
      services.by(BY_HOST_NAME, objectKey(name)).some(({ namespace }) => access.isOpen(namespace)),
    externalNames: () => services.by(BY_TYPE, 'ExternalName'),
    stores: { ...starter.stores, ...namespaceStores(namespaces) },
  }
}

const virtualServices = (place: HostPlace): Store<SyncedObject> =>
  new Store(syncedObject(SERVICES.kind), {
    [BY_HOST_NAME]: (service) => objectKey(hostNameOf(service, place)),
    [BY_TYPE]: ({ object }) => nestedString(object, ['spec', 'type']),
  })

const namespaceStores = (namespaces: NamespaceStores | null): SyncSources['stores'] =>
  namespaces === null
    ? {}
    : { 'virtual namespaces': namespaces.virtual, 'host namespaces': namespaces.host }

/** Starts the sources of the virtual cluster, and in single-namespace mode of the host. */
class SourceStarter {
  readonly #place: HostPlace
  readonly #start: StartInformers
  readonly #services: Store<SyncedObject>
  /** The collections that are read as a whole. */
  readonly stores: Record<string, { readonly synced: boolean }> = {}

  /** @param services the store of the virtual cluster's Services */
  constructor(place: HostPlace, start: StartInformers, services: Store<SyncedObject>) {
    this.#place = place
    this.#start = start
    this.#services = services
  }

  whole(kind: SyncedKind, side: 'virtual' | 'host'): PartialSource {
    const resource = SYNCED_RESOURCES[kind]
    const isIndexed = kind === 'services' && side === 'virtual'
    const store = isIndexed ? this.#services : new Store(syncedObject(resource.kind))
    const query = side === 'host' ? { namespace: this.#place.hostNamespace } : {}
    this.#start[side](resource, store, query)
    this.stores[`${side} ${resource.plural}`] = store
    return wholeSource(store)
  }

  named(
    kind: SyncedKind,
    side: 'virtual' | 'host',
    project = syncedObject(SYNCED_RESOURCES[kind].kind),
  ): PartialSource {
    const source = watchByName({
      startInformer: this.#start[side],
      resource: SYNCED_RESOURCES[kind],
      project,
      log: this.#start.log.child({ cluster: side }),
    })
    return { ...source, subscribeRead: () => undefined }
  }
}

/** Tenants choose which names are read: of an object that its owner does not offer, only the metadata are kept. */
const offeredObject =
  (kind: string, { virtualCluster }: HostPlace) =>
  (given: KubeObject): SyncedObject => {
    const whole = syncedObject(kind)(given)
    if (isImportable(whole.object, virtualCluster)) return whole
    return { ...whole, object: { metadata: nestedMap(whole.object, ['metadata']) } }
  }

/** Whether all objects of a kind are read; else those that references name, one by one. */
export const isReadWhole = (kind: SyncedKind, kinds: SyncConfig['kinds']): boolean =>
  !KINDS[kind].isByReference || kinds[kind].all

const wholeSource = (store: Store<SyncedObject>): PartialSource => ({
  getByKey: (key) => store.getByKey(key),
  isSynced: () => store.synced,
  values: () => store.values(),
  subscribe: (listener) => store.subscribe(listener),
  whenSynced: (callback) => store.whenSynced(callback),
  observe: (object) => store.observe(object),
  subscribeRead: () => undefined,
  want: () => undefined,
  release: () => undefined,
  isWaiting: () => false,
})
