// The namespaces of both clusters in multi-namespace mode, and the sources of host objects there (contract 17.5).
import { NAMESPACES, type Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { ObjectRef } from '../../kube/client/client.ts'
import type { InformerFactory } from '../../kube/informer/informers.ts'
import { watchByName } from '../../kube/informer/named-informers.ts'
import { watchNamespaces } from '../../kube/informer/namespace-informers.ts'
import {
  type CachedObject,
  notifyAll,
  type ObjectSource,
  objectKey,
  Store,
} from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import type { HostPlace } from '../objects/host-name.ts'
import { type SyncedObject, syncedObject } from '../objects/synced-object.ts'
import { hostNamespaceOf, type NamespaceMark, namespaceMark } from './marks.ts'
import {
  isMappedNamespace,
  type LeadingNamespace,
  type NamespaceFacts,
  planNamespace,
} from './plan.ts'

/** A namespace of the virtual cluster as the syncer keeps it. */
type VirtualNamespaceObject = CachedObject & LeadingNamespace

/** A namespace of the host as the syncer keeps it. */
export interface HostNamespaceObject extends CachedObject {
  readonly mark: NamespaceMark
  readonly isTerminating: boolean
}

/** The namespaces of both clusters. */
export interface NamespaceStores {
  readonly virtual: Store<VirtualNamespaceObject>
  readonly host: Store<HostNamespaceObject>
}

/** Which virtual namespaces have a host namespace that is marked as theirs. */
export interface HostAccess {
  /** Whether objects of this virtual namespace are read and written on the host. */
  readonly isOpen: (virtualNamespace: string) => boolean
  /** Whether its host namespace is being made or marked. */
  readonly isOpening: (virtualNamespace: string) => boolean
  /** Whether objects may be created in its host namespace: that does not terminate. */
  readonly mayCreateIn: (virtualNamespace: string) => boolean
  /** Calls back with each virtual namespace whose objects must be reconciled again. */
  readonly subscribe: (listener: (virtualNamespace: string) => void) => void
}

/** The access in single-namespace mode: the host namespace exists. */
export const SINGLE_NAMESPACE: HostAccess = {
  isOpen: () => true,
  isOpening: () => false,
  mayCreateIn: () => true,
  subscribe: () => undefined,
}

/** A source that can be asked for a single object; a source of a whole collection has each object anyway. */
export interface PartialSource extends ObjectSource<SyncedObject> {
  /** Calls back with each virtual namespace whose host namespace is read; for a whole collection see `whenSynced`. */
  readonly subscribeRead: (listener: (virtualNamespace: string) => void) => void
  /** As in NamedInformers. */
  readonly want: (ref: ObjectRef) => void
  readonly release: (ref: ObjectRef) => void
  readonly isWaiting: (ref: ObjectRef) => boolean
}

/** Virtual namespaces by their host namespace. */
export const BY_HOST_NAMESPACE = 'host-namespace'

const metadataOf = ({ metadata }: KubeObject) => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  isTerminating: metadata.deletionTimestamp !== undefined,
})

/** A namespace of the virtual cluster. */
export const virtualNamespace = (object: KubeObject): VirtualNamespaceObject => ({
  ...metadataOf(object),
  creationTimestamp: object.metadata.creationTimestamp,
})

/** The projection of the host's namespaces. */
export const hostNamespace =
  (place: HostPlace) =>
  (object: KubeObject): HostNamespaceObject => ({
    ...metadataOf(object),
    mark: namespaceMark(object.metadata as unknown as JsonMap, place),
  })

/** Starts to watch the namespaces of both clusters. */
export function startNamespaces(
  place: HostPlace,
  start: {
    readonly virtual: InformerFactory['startInformer']
    readonly host: InformerFactory['startInformer']
  },
): NamespaceStores {
  const virtual = new Store(virtualNamespace, {
    [BY_HOST_NAMESPACE]: ({ name }) => hostNamespaceOf(name, place),
  })
  const host = new Store(hostNamespace(place))
  start.virtual(NAMESPACES, virtual, {})
  start.host(NAMESPACES, host, {})
  return { virtual, host }
}

/** The facts about the host namespace of this name, as last read. */
export const namespaceFacts = (
  hostName: string,
  { virtual, host }: NamespaceStores,
  place: HostPlace,
): NamespaceFacts => ({
  leading: virtual.by(BY_HOST_NAMESPACE, hostName),
  host: host.getByKey(hostName) ?? null,
  isNamed: isMappedNamespace(hostName, place),
  isReserved: hostName === place.hostNamespace,
})

/** Sources of the objects in the host namespaces of this virtual cluster. No other namespace is read. */
interface HostNamespaceSources extends HostAccess {
  /** All objects of a kind. */
  readonly whole: (resource: Resource) => PartialSource
  /** Single objects of a kind. @param project as in Store */
  readonly named: (
    resource: Resource,
    project: (object: KubeObject) => SyncedObject,
  ) => PartialSource
}

/** Dependencies of hostNamespaceSources. */
interface HostNamespaceOptions {
  readonly stores: NamespaceStores
  readonly place: HostPlace
  /** Of the host. */
  readonly startInformer: InformerFactory['startInformer']
  readonly log: Log
}

/** Opens a namespace to reading and writing when it is marked as this virtual cluster's, and closes it when not. */
export function hostNamespaceSources({
  stores,
  place,
  startInformer,
  log,
}: HostNamespaceOptions): HostNamespaceSources {
  const gates: Gate[] = []
  const ownerOf = (hostName: string): string | null =>
    virtualOwnerOf(stores.host.getByKey(hostName), place)
  stores.host.subscribe(({ name, after }) => {
    const hasOwner = virtualOwnerOf(after, place) !== null
    for (const gate of gates) (hasOwner ? gate.open : gate.close)(name)
  })
  // After the gates: listeners find the namespace open, or closed.
  const access = hostAccess(stores, place)
  return {
    ...access,
    whole: (resource) => {
      const { source, gate } = wholeSource({ startInformer, resource, ownerOf })
      gates.push(gate)
      return source
    },
    named: (resource, project) => {
      const { source, gate } = namedSource({ startInformer, resource, project, log })
      gates.push(gate)
      return source
    },
  }
}

/** The virtual namespace whose host namespace this is; null = it has no such mark. */
function virtualOwnerOf(
  namespace: HostNamespaceObject | undefined,
  place: HostPlace,
): string | null {
  if (namespace?.mark.kind !== 'ours') return null
  const { name } = namespace.mark.virtual
  return hostNamespaceOf(name, place) === namespace.name ? name : null
}

/** The access by the marks of the host namespaces. */
function hostAccess(stores: NamespaceStores, place: HostPlace): HostAccess {
  const { host } = stores
  const listeners: ((virtualNamespace: string) => void)[] = []
  const hostOf = (namespace: string): HostNamespaceObject | undefined =>
    host.getByKey(hostNamespaceOf(namespace, place))
  const isOpen = (namespace: string): boolean =>
    virtualOwnerOf(hostOf(namespace), place) === namespace
  host.subscribe(({ before, after }) => {
    const [was, is] = [virtualOwnerOf(before, place), virtualOwnerOf(after, place)]
    if (was === is && before?.isTerminating === after?.isTerminating) return
    notifyAll(
      listeners,
      [...new Set([was, is])].filter((one) => one !== null),
    )
  })
  return {
    isOpen,
    isOpening: (namespace) => {
      const { plan, waiting } = planNamespace(
        namespaceFacts(hostNamespaceOf(namespace, place), stores, place),
      )
      if (plan.kind === 'create' || plan.kind === 'mark') return plan.virtual.name === namespace
      // A namespace that is being cleared can stay for ever.
      return plan.kind === 'wait' && waiting?.name === namespace
    },
    mayCreateIn: (namespace) => isOpen(namespace) && hostOf(namespace)?.isTerminating === false,
    subscribe: (listener) => void listeners.push(listener),
  }
}

/** Starts and ends the reads of one kind in a host namespace. */
interface Gate {
  readonly open: (namespace: string) => void
  readonly close: (namespace: string) => void
}

/** A source with the gate that it is read through. */
interface GatedSource {
  readonly source: PartialSource
  readonly gate: Gate
}

/** Dependencies of wholeSource. */
interface WholeSourceOptions {
  readonly startInformer: InformerFactory['startInformer']
  readonly resource: Resource
  /** The virtual namespace of a host namespace; null = it is not marked as one of this virtual cluster. */
  readonly ownerOf: (hostName: string) => string | null
}

/** All objects of a kind in the host namespaces that are open. */
function wholeSource({ startInformer, resource, ownerOf }: WholeSourceOptions): GatedSource {
  const project = syncedObject(resource.kind)
  const informers = watchNamespaces({ startInformer, resource, project })
  const source: PartialSource = {
    ...informers,
    want: () => undefined,
    release: () => undefined,
    isWaiting: () => false,
    subscribeRead: (listener) =>
      informers.subscribeRead((name) => {
        const owner = ownerOf(name)
        if (owner !== null) listener(owner)
      }),
  }
  return { source, gate: { open: informers.want, close: informers.release } }
}

/** Single objects, which are read while their namespace is open. */
function namedSource(options: Parameters<typeof watchByName<SyncedObject>>[0]): GatedSource {
  const informers = watchByName(options)
  const wanted = new Map<string, ObjectRef>()
  const opened = new Set<string>()
  const wantedIn = (namespace: string): readonly ObjectRef[] =>
    [...wanted.values()].filter((ref) => ref.namespace === namespace)
  const source: PartialSource = {
    ...informers,
    subscribeRead: () => undefined,
    want: (ref) => {
      wanted.set(objectKey(ref), ref)
      if (opened.has(ref.namespace ?? '')) informers.want(ref)
    },
    release: (ref) => {
      wanted.delete(objectKey(ref))
      informers.release(ref)
    },
  }
  const gate: Gate = {
    open: (namespace) => {
      opened.add(namespace)
      for (const ref of wantedIn(namespace)) informers.want(ref)
    },
    close: (namespace) => {
      opened.delete(namespace)
      for (const ref of wantedIn(namespace)) informers.release(ref)
    },
  }
  return { source, gate }
}
