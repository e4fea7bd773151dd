// The objects of both clusters that endpoint sync reads, and the informers that keep them current (contract 16.2, 20).
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import { nestedMap } from '../domain/json/field-path.ts'
import type { ObjectRef } from '../kube/client/client.ts'
import type { InformerFactory } from '../kube/informer/informers.ts'
import { watchByName } from '../kube/informer/named-informers.ts'
import { type Indexers, type ObjectSource, Store, objectKey } from '../kube/informer/store.ts'
import { SYNCED_KINDS, type SyncConfig, type SyncedKind } from './rules/config.ts'
import { type HostPlace, hostNameOf } from './rules/host-name.ts'
import { isImportable } from './rules/imports.ts'
import { type SyncedObject, syncedObject } from './synced-object.ts'

/** The resources of the synced kinds. */
export const SYNCED_RESOURCES: Readonly<Record<SyncedKind, Resource>> = {
  endpoints: ENDPOINTS,
  services: SERVICES,
  secrets: SECRETS,
  configMaps: CONFIG_MAPS,
}

/** A source of which a single object can be asked for; a source of a whole collection has each object anyway. */
export interface PartialSource extends ObjectSource<SyncedObject> {
  /** As in NamedInformers. */
  readonly want: (ref: ObjectRef) => void
  readonly release: (ref: ObjectRef) => void
}

/** The objects of the synced kinds in one cluster. */
export type SyncedObjects = Readonly<Record<SyncedKind, PartialSource>>

/** The objects of both clusters. */
export interface SyncSources {
  readonly virtual: SyncedObjects
  readonly host: SyncedObjects
  /** Objects of the host by names that no virtual object has there: those that can be imported (contract 19.5). */
  readonly candidates: SyncedObjects
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
  const isWhole = (kind: SyncedKind): boolean =>
    kind === 'services' || kind === 'endpoints' || kinds[kind].all
  const byName = (
    kind: SyncedKind,
    side: 'virtual' | 'host',
    project = syncedObject(SYNCED_RESOURCES[kind].kind),
  ): PartialSource =>
    watchByName({ startInformer: start[side], resource: SYNCED_RESOURCES[kind], project })
  const sourceOf = (kind: SyncedKind, side: 'virtual' | 'host'): PartialSource =>
    isWhole(kind) ? wholeSource(whole(kind, side)) : byName(kind, side)
  const candidate = (kind: SyncedKind): PartialSource =>
    byName(kind, 'host', offeredObject(SYNCED_RESOURCES[kind].kind, place))
  const services = { virtual: whole('services', 'virtual'), host: whole('services', 'host') }
  const ofEachKind = (source: (kind: SyncedKind) => PartialSource): SyncedObjects =>
    Object.fromEntries(SYNCED_KINDS.map((kind) => [kind, source(kind)])) as unknown as SyncedObjects
  const objectsOf = (side: 'virtual' | 'host'): SyncedObjects =>
    ofEachKind((kind) => (kind === 'services' ? wholeSource(services[side]) : sourceOf(kind, side)))
  const host = objectsOf('host')
  return {
    virtual: objectsOf('virtual'),
    host,
    // Apart from the objects of virtual ones: each of both is released when nothing needs it any more.
    candidates: ofEachKind((kind) => (isWhole(kind) ? host[kind] : candidate(kind))),
    hasVirtualServiceFor: (name) =>
      services.virtual.firstBy(BY_HOST_NAME, objectKey(name)) !== undefined,
    stores,
  }
}

/** Tenants choose which names are read: of an object that its owner does not offer, its metadata are kept and no data. */
const offeredObject =
  (kind: string, { virtualCluster }: HostPlace) =>
  (given: KubeObject): SyncedObject => {
    const whole = syncedObject(kind)(given)
    if (isImportable(whole.object, virtualCluster)) return whole
    return { ...whole, object: { metadata: nestedMap(whole.object, ['metadata']) } }
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
