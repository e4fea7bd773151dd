// Informers of single objects, for a process with rights to some objects of a collection only (contract 20).
import type { Resource } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { isDnsLabel, isDnsSubdomain } from '../../domain/dns-name.ts'
import type { Log } from '../../runtime/log.ts'
import type { ObjectRef } from '../client/client.ts'
import type { Informer, InformerFactory } from './informers.ts'
import { ShardedStore } from './sharded-store.ts'
import {
  type CachedObject,
  type ObjectSource,
  type Store,
  type StoreChange,
  notifyAll,
  objectKey,
} from './store.ts'

/** Dependencies of the informers of one resource. */
interface NamedInformersOptions<T extends CachedObject> {
  readonly startInformer: InformerFactory['startInformer']
  readonly resource: Resource
  /** As in Store. */
  readonly project: (object: KubeObject) => T
  readonly log: Log
}

/** Each watch costs the API server memory, and the users who write references decide how many there are. */
const MOST_WATCHES = 1000

/**
 * The wanted objects. One is unknown until its first list is complete: until then it is not found, and `isSynced` is
 * false. Listeners get one change then, also where the object does not exist, and all later ones.
 */
interface NamedInformers<T extends CachedObject> extends ObjectSource<T> {
  /** Starts to watch the object; does nothing if it is watched already. Beyond 1,000 objects it waits for a release. */
  want(ref: ObjectRef): void
  /** Ends the watch. The object is unknown from now on, and listeners get no change: it may still exist. */
  release(ref: ObjectRef): void
  /** Whether it is wanted, and waits for a release. */
  isWaiting(ref: ObjectRef): boolean
  /** Calls back at once: no object is known from the start. */
  whenSynced(callback: () => void): void
}

/**
 * Watches objects of one resource by their names, each in a watch of its own. It needs the rights to `get` and `watch`
 * them. An API server without WatchList is asked for lists, so that there it needs `list` too: without it, each try is
 * answered with 403 and logged, and the objects stay unknown.
 */
export function watchByName<T extends CachedObject>(
  options: NamedInformersOptions<T>,
): NamedInformers<T> {
  const waiting = new Map<string, ObjectRef>()
  const listeners: ((change: StoreChange<T>) => void)[] = []
  const notify = (change: StoreChange<T>): void => notifyAll(listeners, [change])
  const objects = new ShardedStore<T>({
    project: options.project,
    onRead: (key, store) => {
      const name = key.slice(key.indexOf('/') + 1)
      notify({ key, name, before: undefined, after: store.getByKey(key), listed: true })
    },
    onChange: notify,
  })

  const want = (ref: ObjectRef): void => {
    const key = objectKey(ref)
    if (objects.has(key)) return
    if (objects.size >= MOST_WATCHES) {
      if (waiting.size === 0)
        options.log.warn(
          { resource: options.resource.plural, watches: MOST_WATCHES },
          'too many objects are read by their names, the others wait',
        )
      waiting.set(key, ref)
      return
    }
    objects.want(key, (store) => (isPossible(ref) ? startInformer(ref, store, options) : null))
  }
  const getByKey = (key: string): T | undefined => objects.read(key)?.getByKey(key)
  return {
    want,
    release: (ref) => {
      const key = objectKey(ref)
      objects.release(key)
      waiting.delete(key)
      const [next] = waiting.values()
      if (next === undefined || objects.size >= MOST_WATCHES) return
      waiting.delete(objectKey(next))
      want(next)
    },
    isWaiting: (ref) => waiting.has(objectKey(ref)),
    getByKey,
    isSynced: (ref) => objects.read(objectKey(ref)) !== undefined,
    values: () => objects.names().flatMap((key) => getByKey(key) ?? []),
    subscribe: (listener) => void listeners.push(listener),
    whenSynced: (callback) => callback(),
    observe: (object) => objects.observe(objectKey(object.metadata), object),
  }
}

const startInformer = <T extends CachedObject>(
  { name, namespace }: ObjectRef,
  store: Store<T>,
  { startInformer: start, resource }: NamedInformersOptions<T>,
): Informer =>
  start(resource, store, {
    ...(namespace === undefined ? {} : { namespace }),
    fieldSelector: `metadata.name=${name}`,
  })

/** Whether an object can have the name. Another text would change the selector or the path of the request. */
const isPossible = ({ name, namespace }: ObjectRef): boolean =>
  isDnsSubdomain(name) && (namespace === undefined || isDnsLabel(namespace))
