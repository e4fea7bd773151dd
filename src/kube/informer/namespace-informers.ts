// Informers of single namespaces, for a process that reads some namespaces of a cluster only (contract 17.5).
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { ObjectRef } from '../client/client.ts'
import type { Informer, InformerFactory } from './informers.ts'
import {
  type CachedObject,
  type ObjectSource,
  Store,
  type StoreChange,
  notifyAll,
  objectKey,
} from './store.ts'

/** Dependencies of the informers of one resource. */
interface NamespaceInformersOptions<T extends CachedObject> {
  readonly startInformer: InformerFactory['startInformer']
  readonly resource: Resource
  /** As in Store. */
  readonly project: (object: KubeObject) => T
}

/**
 * The objects of the wanted namespaces. Those of one are unknown until its first list is complete: until then none is
 * found, and `isSynced` is false. Listeners get them as added then, and all later changes.
 */
interface NamespaceInformers<T extends CachedObject> extends ObjectSource<T> {
  /** Starts to watch the namespace; does nothing if it is watched already. */
  readonly want: (namespace: string) => void
  /** Ends the watch. Its objects are unknown from now on, and listeners get no change: they may still exist. */
  readonly release: (namespace: string) => void
  /** Calls back with each namespace whose first list is complete, after the changes that it found. */
  readonly subscribeRead: (listener: (namespace: string) => void) => void
  /** Calls back at once: no namespace is known from the start. */
  whenSynced(callback: () => void): void
}

interface WantedNamespace<T extends CachedObject> {
  readonly store: Store<T>
  readonly informer: Informer
}

/** Watches the namespaced objects of one resource, each namespace in a watch of its own. */
export function watchNamespaces<T extends CachedObject>({
  startInformer,
  resource,
  project,
}: NamespaceInformersOptions<T>): NamespaceInformers<T> {
  const wanted = new Map<string, WantedNamespace<T>>()
  const listeners: ((change: StoreChange<T>) => void)[] = []
  const readListeners: ((namespace: string) => void)[] = []

  const want = (namespace: string): void => {
    if (wanted.has(namespace)) return
    const store = new Store(project)
    // After a release, a watch that was stopped may still deliver what it has read.
    const isCurrent = (): boolean => store.synced && wanted.get(namespace)?.store === store
    store.subscribe((change) => {
      if (isCurrent()) notifyAll(listeners, [change])
    })
    store.whenSynced(() => {
      if (!isCurrent()) return
      notifyAll(listeners, [...store.values()].map(listed(namespace)))
      notifyAll(readListeners, [namespace])
    })
    wanted.set(namespace, { store, informer: startInformer(resource, store, { namespace }) })
  }
  const syncedStore = (namespace: string | undefined): Store<T> | undefined => {
    const store = wanted.get(namespace ?? '')?.store
    return store?.synced ? store : undefined
  }
  return {
    want,
    release: (namespace) => {
      wanted.get(namespace)?.informer.stop()
      wanted.delete(namespace)
    },
    getByKey: (key) => syncedStore(key.split('/')[0])?.getByKey(key),
    isSynced: ({ namespace }: ObjectRef) => syncedStore(namespace) !== undefined,
    values: () => [...wanted.keys()].flatMap((one) => [...(syncedStore(one)?.values() ?? [])]),
    subscribe: (listener) => void listeners.push(listener),
    subscribeRead: (listener) => void readListeners.push(listener),
    whenSynced: (callback) => callback(),
    observe: (object) => wanted.get(object.metadata.namespace ?? '')?.store.observe(object),
  }
}

const listed =
  (namespace: string) =>
  <T extends CachedObject>(after: T): StoreChange<T> => ({
    key: objectKey({ namespace, name: after.name }),
    name: after.name,
    before: undefined,
    after,
    listed: true,
  })
