import type { Resource } from '../api/group.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { KubeClient, ListQuery } from './client.ts'
import type { Sink } from './store.ts'
import { watchForever } from './watcher.ts'

/** What following stands on; watches end when the signal aborts. */
export interface FollowerOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  /** Told of each watch that had to be opened anew. */
  readonly restarted: (plural: string, reason: string) => void
  readonly signal: AbortSignal
}

/** Follows collections of the API server. */
export interface Follower {
  /**
   * Keeps the sink equal to a collection from now on.
   *
   * @param heard as in WatcherOptions
   * @returns to be called by who knows that something was stored which the watch has not told
   */
  readonly follow: (
    resource: Resource,
    sink: Sink,
    query: ListQuery,
    heard?: () => void,
  ) => () => void
  /** Plurals of resources that the API server does not serve. */
  readonly absent: () => readonly string[]
  /** Plurals of resources of which a watch reads, again and again, what it can't take in: it lists them anew. */
  readonly stuck: () => readonly string[]
}

/** A follower of nothing yet. Of kinds that are not served it says once how to install them. */
export function createFollower(options: FollowerOptions): Follower {
  const { client, clock, log, signal } = options
  const absent = new Set<string>()
  // Two watches may be of one resource.
  const stuck = new Map<Sink, string>()
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
      void watchForever(watcher, signal)
      return () => doubt()
    },
    absent: () => [...absent],
    stuck: () => [...new Set(stuck.values())],
  }
}
