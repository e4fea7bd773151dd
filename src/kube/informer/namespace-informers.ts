// Informers of single namespaces, for a process that reads some namespaces of a cluster only (contract 17.5).
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { InformerFactory } from './informers.ts'
import { ShardedStore } from './sharded-store.ts'
import {
  type CachedObject,
  type ObjectSource,
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

/** Watches the namespaced objects of one resource, each namespace in a watch of its own. */
export function watchNamespaces<T extends CachedObject>({
  startInformer,
  resource,
  project,
}: NamespaceInformersOptions<T>): NamespaceInformers<T> {
  const listeners: ((change: StoreChange<T>) => void)[] = []
  const readListeners: ((namespace: string) => void)[] = []
  const namespaces = new ShardedStore<T>({
    project,
    onRead: (namespace, store) => {
      notifyAll(listeners, [...store.values()].map(listed(namespace)))
      notifyAll(readListeners, [namespace])
    },
    onChange: (change) => notifyAll(listeners, [change]),
  })
  return {
    want: (namespace) =>
      namespaces.want(namespace, (store) => startInformer(resource, store, { namespace })),
    release: (namespace) => namespaces.release(namespace),
    getByKey: (key) => namespaces.read(key.split('/')[0] ?? '')?.getByKey(key),
    isSynced: ({ namespace = '' }) => namespaces.read(namespace) !== undefined,
    values: () => namespaces.names().flatMap((one) => [...(namespaces.read(one)?.values() ?? [])]),
    subscribe: (listener) => void listeners.push(listener),
    subscribeRead: (listener) => void readListeners.push(listener),
    whenSynced: (callback) => callback(),
    observe: (object) => namespaces.observe(object.metadata.namespace ?? '', object),
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
