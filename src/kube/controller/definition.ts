// What the controllers of a process say of themselves, besides how they are set up: a command folds over their list.
import type { Resource } from '../../api/names.ts'
import type { Overdue } from '../../domain/time.ts'
import type { ListQuery } from '../client/client.ts'
import type { StoreSink } from '../informer/store.ts'

/** A collection that the process watches into a store, for any of its controllers. */
export interface WatchedCollection {
  readonly resource: Resource
  /** An empty store, with the indexes that controllers use. */
  readonly createStore: () => StoreSink
  /** The part of the collection that is watched. */
  readonly query: (settings: WatchSettings) => ListQuery
  /**
   * Name of the one object of the query, empty for a query of several, where their namespace or the right to them may be
   * missing: the watch begins once the account has the right, and no part of the process waits for it. Absent = it is
   * watched from the start.
   */
  readonly optionalName?: string
}

/** The settings that a query depends on. */
export interface WatchSettings {
  /** The namespace of the platform. */
  readonly namespace: string
  /** The namespace of the sign-in process. */
  readonly signInNamespace: string
  /** The Config in force. */
  readonly configName: string
}

/** The whole collection. */
export const everyObject = (): ListQuery => ({})

/** The object of that name. */
export const oneObject = (namespace: string, name: string): ListQuery => ({
  namespace,
  fieldSelector: `metadata.name=${name}`,
})

/**
 * The number of objects of a kind by state; of a kind whose objects expire, also of those that a cap ends, and of those
 * whose status is late.
 */
export interface ObjectCounts {
  readonly byState: Readonly<Record<string, number>>
  readonly capped?: number
  readonly overdue?: Overdue
}

/** The intersection of a union's members: what the records of all controllers have together. */
export type AllOf<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never
