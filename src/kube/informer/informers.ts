import type { Resource } from '../../api/names.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { KubeClient, ListQuery } from '../client/client.ts'
import { runReflector } from './reflector.ts'
import type { StoreSink } from './store.ts'

/** Dependencies of all informers of a process; they end when the signal aborts. */
interface InformerFactoryOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** Called for each restart of a watch, for platform_watch_restarts_total. */
  readonly restarted: (plural: string, reason: string) => void
  readonly signal: AbortSignal
}

/** A running informer: a reflector that keeps one store equal to one collection. */
export interface Informer {
  /** Makes the reflector list again, for a caller that knows of a write that the watch has missed. */
  readonly relist: () => void
  /** Ends the watch for good. The sink keeps its objects, and may still get events that are read already. */
  readonly stop: () => void
}

/** Starts informers, and reports those that can't keep their store current. */
export interface InformerFactory {
  /**
   * Starts an informer, which keeps the sink equal to a collection of the API server.
   *
   * @param onProgress called whenever the sink is proven to be current, as in ReflectorOptions
   */
  readonly startInformer: (
    resource: Resource,
    sink: StoreSink,
    query: ListQuery,
    onProgress?: () => void,
  ) => Informer
  /** Plurals of resources that the API server does not serve. */
  readonly unserved: () => readonly string[]
  /** Plurals of resources whose sink fails repeatedly on the same events, so that they are listed again. */
  readonly stuck: () => readonly string[]
}

/** Creates a factory. For a resource that is not served it logs once how to install the CRDs. */
export function createInformerFactory(options: InformerFactoryOptions): InformerFactory {
  const { client, clock, log, signal } = options
  const unserved = new Set<string>()
  // By sink, because one resource may have two informers.
  const stuck = new Map<StoreSink, string>()
  const setServed = (plural: string, isServed: boolean): void => {
    if (isServed) unserved.delete(plural)
    else if (!unserved.has(plural))
      log.warn(
        { resource: plural },
        'resource is not served, waiting: install the CRDs with kubectl apply -k crds',
      )
    if (!isServed) unserved.add(plural)
  }
  return {
    startInformer: (resource, sink, query, onProgress) => {
      const { plural } = resource
      let relist = (): void => undefined
      const reflector = {
        client,
        resource,
        query,
        sink,
        clock,
        log,
        served: (isServed: boolean) => setServed(plural, isServed),
        stuck: (isStuck: boolean) => {
          if (isStuck) stuck.set(sink, plural)
          else stuck.delete(sink)
        },
        restarted: (reason: string) => options.restarted(plural, reason),
        opened: (relistCurrent: () => void) => {
          relist = relistCurrent
        },
        ...(onProgress ? { onProgress } : {}),
      }
      const ending = new AbortController()
      void runReflector(reflector, AbortSignal.any([signal, ending.signal]))
      return {
        relist: () => relist(),
        stop: () => {
          ending.abort()
          stuck.delete(sink)
        },
      }
    },
    unserved: () => [...unserved],
    stuck: () => [...new Set(stuck.values())],
  }
}
