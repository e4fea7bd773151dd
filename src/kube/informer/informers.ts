import type { Resource } from '../../api/names.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { KubeClient, ListQuery } from '../client/client.ts'
import { runReflector } from './reflector.ts'
import type { StoreSink } from './store.ts'

/** What a follower needs; watches end when the signal aborts. */
export interface InformerFactoryOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** Called for each restart of a watch. */
  readonly restarted: (plural: string, reason: string) => void
  readonly signal: AbortSignal
}

/** Watches collections of the API server. */
export interface InformerFactory {
  /**
   * Keeps the sink equal to a collection from now on.
   *
   * @param heard as in WatcherOptions
   * @returns makes it list again, for a caller that knows of a write which the watch has missed
   */
  readonly follow: (
    resource: Resource,
    sink: StoreSink,
    query: ListQuery,
    heard?: () => void,
  ) => () => void
  /** Plurals of resources that the API server does not serve. */
  readonly absent: () => readonly string[]
  /** Plurals of resources whose sink fails repeatedly on the same events: they are listed again. */
  readonly stuck: () => readonly string[]
}

/** A follower without watches. For a kind that is not served it logs once how to install it. */
export function createInformerFactory(options: InformerFactoryOptions): InformerFactory {
  const { client, clock, log, signal } = options
  const absent = new Set<string>()
  // One resource may have two watches.
  const stuck = new Map<StoreSink, string>()
  const tell = (plural: string, isServed: boolean): void => {
    if (isServed) absent.delete(plural)
    else if (!absent.has(plural))
      log.warn(
        { resource: plural },
        'resource is not served, waiting: install the CRDs with kubectl apply -k crds',
      )
    if (!isServed) absent.add(plural)
  }
  return {
    follow: (resource, sink, query, heard) => {
      const { plural } = resource
      let doubt = (): void => undefined
      const watcher = {
        client,
        resource,
        query,
        sink,
        clock,
        log,
        served: (isServed: boolean) => tell(plural, isServed),
        stuck: (isStuck: boolean) => {
          if (isStuck) stuck.set(sink, plural)
          else stuck.delete(sink)
        },
        restarted: (reason: string) => options.restarted(plural, reason),
        doubtable: (ofThis: () => void) => {
          doubt = ofThis
        },
        ...(heard ? { heard } : {}),
      }
      void runReflector(watcher, signal)
      return () => doubt()
    },
    absent: () => [...absent],
    stuck: () => [...new Set(stuck.values())],
  }
}
