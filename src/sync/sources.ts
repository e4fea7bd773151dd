// The objects of both clusters that endpoint sync reads, and the informers that keep them current (contract 16.2, 20).
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../api/names.ts'
import type { ObjectRef } from '../kube/client/client.ts'
import type { InformerFactory } from '../kube/informer/informers.ts'
import { watchByName } from '../kube/informer/named-informers.ts'
import { type Indexers, type ObjectSource, Store, objectKey } from '../kube/informer/store.ts'
import { SYNCED_KINDS, type SyncConfig, type SyncedKind } from './rules/config.ts'
import { type HostPlace, hostNameOf } from './rules/host-name.ts'
import { type SyncedObject, syncedObject } from './synced-object.ts'

/** The resources of the synced kinds. */
export const SYNCED_RESOURCES: Readonly<Record<SyncedKind, Resource>> = {
  endpoints: ENDPOINTS,
  services: SERVICES,
  secrets: SECRETS,
  configMaps: CONFIG_MAPS,
}

/** A source of which a single object can be asked for; a source of a whole collection has each object anyway. */
interface PartialSource extends ObjectSource<SyncedObject> {
  /** As in NamedInformers. */
  readonly want: (ref: ObjectRef) => void
  readonly release: (ref: ObjectRef) => void
}

/** The objects of the synced kinds in one cluster. */
type SyncedObjects = Readonly<Record<SyncedKind, PartialSource>>

/** The objects of both clusters. */
export interface SyncSources {
  readonly virtual: SyncedObjects
  readonly host: SyncedObjects
  /** Whether a Service of the virtual cluster gets this name on the host. */
  readonly hasVirtualServiceFor: (host: Required<ObjectRef>) => boolean
  /** The collections that are read as a whole, for the readiness check. */
  readonly stores: Readonly<Record<string, { readonly synced: boolean }>>
}

/** Starts informers of one cluster. */
type StartInformer = InformerFactory['startInformer']

/** Services by their names on the host, which may be the same for two of them (contract 17.1). */
const BY_HOST_NAME = 'host-name'

/** Starts the informers of both clusters. Secrets and ConfigMaps are read one by one unless all of them are synced. */
export function startSources(
  { kinds }: SyncConfig,
  place: HostPlace,
  start: { readonly virtual: StartInformer; readonly host: StartInformer },
): SyncSources {
  const stores: Record<string, Store<SyncedObject>> = {}
  const whole = (kind: SyncedKind, side: 'virtual' | 'host'): Store<SyncedObject> => {
    const resource = SYNCED_RESOURCES[kind]
    const store = new Store(syncedObject(resource.kind), indexersOf(kind, side, place))
    start[side](resource, store, side === 'host' ? { namespace: place.hostNamespace } : {})
    stores[`${side} ${resource.plural}`] = store
    return store
  }
  const sourceOf = (kind: SyncedKind, side: 'virtual' | 'host'): PartialSource => {
    const resource = SYNCED_RESOURCES[kind]
    const isWhole = kind === 'endpoints' || kinds[kind].all
    if (isWhole) return wholeSource(whole(kind, side))
    const project = syncedObject(resource.kind)
    return watchByName({ startInformer: start[side], resource, project })
  }
  const services = { virtual: whole('services', 'virtual'), host: whole('services', 'host') }
  const objectsOf = (side: 'virtual' | 'host'): SyncedObjects =>
    Object.fromEntries(
      SYNCED_KINDS.map((kind) => [
        kind,
        kind === 'services' ? wholeSource(services[side]) : sourceOf(kind, side),
      ]),
    ) as unknown as SyncedObjects
  return {
    virtual: objectsOf('virtual'),
    host: objectsOf('host'),
    hasVirtualServiceFor: (host) =>
      services.virtual.firstBy(BY_HOST_NAME, objectKey(host)) !== undefined,
    stores,
  }
}

const indexersOf = (
  kind: SyncedKind,
  side: 'virtual' | 'host',
  place: HostPlace,
): Indexers<SyncedObject> =>
  kind === 'services' && side === 'virtual'
    ? { [BY_HOST_NAME]: (service) => objectKey(hostNameOf(service, place)) }
    : {}

const wholeSource = (store: Store<SyncedObject>): PartialSource => ({
  getByKey: (key) => store.getByKey(key),
  isSynced: () => store.synced,
  values: () => store.values(),
  subscribe: (listener) => store.subscribe(listener),
  whenSynced: (callback) => store.whenSynced(callback),
  observe: (object) => store.observe(object),
  want: () => undefined,
  release: () => undefined,
})
