import type { KubeObject } from '../../api/objects.ts'
import type { ObjectRef } from '../client/client.ts'
import { SortedIndex } from './sorted-index.ts'

/** The fields that every projection keeps. */
export interface CachedObject {
  readonly name: string
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
}

/**
 * The key of an object in stores and work queues, as in client-go: `namespace/name`, or `name` if it is
 * cluster-scoped.
 */
export const objectKey = ({ namespace, name }: ObjectRef): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/** A cached object as a whole: for the few objects with settings, not for the many keys and tokens. */
export type FullObject<T extends KubeObject> = CachedObject &
  Pick<T['metadata'], 'namespace'> & { readonly object: T }

/** The name of an object in a store: with its namespace if the kind of T is namespaced, without if it is not. */
type NameOf<T extends CachedObject> = T extends { readonly namespace: string }
  ? readonly [name: string, namespace: string]
  : readonly [name: string]

/** The projection that keeps the object whole. */
export const fullObject = <T extends KubeObject>(object: KubeObject): FullObject<T> => ({
  name: object.metadata.name,
  ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
  object: object as T,
})

/**
 * A change of a cached object. `listed`: a list has found the change, so it may be old. Only informers of single
 * objects report one without `before` and `after`: the object is known not to exist.
 */
export interface StoreChange<T> {
  /** As objectKey gives it. */
  readonly key: string
  readonly name: string
  /** undefined = the object was added. */
  readonly before: T | undefined
  /** undefined = the object was removed. */
  readonly after: T | undefined
  readonly listed: boolean
}

/** The cached objects of a resource that a reconcile reads: a whole collection, or single objects by their names. */
export interface ObjectSource<T extends CachedObject> {
  /** The object of a key as objectKey gives it; undefined = it does not exist, or `isSynced` is false. */
  getByKey(key: string): T | undefined
  /** Whether the object has been read: then one that is not found does not exist. */
  isSynced(ref: ObjectRef): boolean
  values(): Iterable<T>
  /** As in Store. */
  subscribe(listener: (change: StoreChange<T>) => void): void
  /** Calls back once the objects that are known from the start are read; at once if they are already. */
  whenSynced(callback: () => void): void
  /** As in Store. */
  observe(object: KubeObject): void
}

/** The side of a store that a reflector writes to. */
export interface StoreSink {
  /** A list begins. */
  begin(): void
  put(object: KubeObject): void
  remove(object: KubeObject): void
  /**
   * After a complete list and before `end`: removes some of the objects that the list lacked. true = call it again.
   */
  sweep(): boolean
  /** The list is complete. Removes the objects that it lacked. */
  end(): void
}

/** For each index the function that gives an object's indexed value, or several; null = it is not in the index. */
export type Indexers<T> = Readonly<Record<string, (item: T) => IndexedValue>>

type IndexedValue = string | readonly string[] | null

/** For each sorted index, whether an object sorts before another. The order of two objects must never change. */
export type SortOrders<T> = Readonly<Record<string, (item: T, other: T) => boolean>>

/** Maximum removals in one sweep, as their listeners run in the same turn of the event loop. */
const MAX_REMOVALS_PER_SWEEP = 1000

interface Slot<T> {
  item: T
  /** Number of the last list with this object. */
  listNumber: number
  /** Number of the list that was the latest when `observe` last stored the response to a write; 0 = never. */
  observedAtList: number
}

/**
 * The cached objects of one resource by their key `[namespace/]name`, each as a slim projection: a raw object of 2 kB
 * takes ten times the memory, and would keep secrets there.
 */
export class Store<T extends CachedObject> implements StoreSink, ObjectSource<T> {
  readonly #project: (object: KubeObject) => T
  readonly #slots = new Map<string, Slot<T>>()
  readonly #indexers: Indexers<T>
  readonly #indexes = new Map<string, SortedIndex>()
  readonly #listeners: ((change: StoreChange<T>) => void)[] = []
  readonly #onSynced: (() => void)[] = []
  /** The highest resourceVersion of a removed object since the last list. */
  #removedAt = 0n
  #listNumber = 0
  /** Iterates over the objects that the sweeps of this list have not checked yet. */
  #unswept = this.#slots.entries()
  #isListing = false
  #isSynced = false

  /**
   * @param project makes the projection of an object
   * @param orders the order of each sorted index
   */
  constructor(
    project: (object: KubeObject) => T,
    indexers: Indexers<T> = {},
    orders: SortOrders<T> = {},
  ) {
    this.#project = project
    this.#indexers = indexers
    for (const index of Object.keys(indexers)) {
      const isBefore = orders[index]
      const keys = (key: string, other: string): boolean => this.#isBefore(key, other, isBefore)
      this.#indexes.set(index, new SortedIndex(isBefore ? keys : null))
    }
  }

  #isBefore(key: string, other: string, isBefore: SortOrders<T>[string] | undefined): boolean {
    const [one, another] = [this.getByKey(key), this.getByKey(other)]
    return one !== undefined && another !== undefined && (isBefore?.(one, another) ?? false)
  }

  /** Whether the first list is complete. Stays true when the watch breaks later. */
  get synced(): boolean {
    return this.#isSynced
  }

  /** As `synced`: a list has all objects. */
  isSynced(): boolean {
    return this.#isSynced
  }

  get size(): number {
    return this.#slots.size
  }

  /** The object of that name; undefined = it does not exist, or the store has not received it yet. */
  get(...ref: NameOf<T>): T | undefined {
    const [name, namespace]: readonly [string, string?] = ref
    return this.getByKey(namespace === undefined ? name : objectKey({ namespace, name }))
  }

  /** The object of a key as returned by objectKey; undefined as for `get`. */
  getByKey(key: string): T | undefined {
    return this.#slots.get(key)?.item
  }

  *values(): IterableIterator<T> {
    for (const slot of this.#slots.values()) yield slot.item
  }

  /** The objects with that indexed value, or so many of them, in the order of a sorted index. */
  by(index: string, value: string, most = Number.POSITIVE_INFINITY): readonly T[] {
    const keys = this.#indexes.get(index)?.keys(value, most) ?? []
    return keys.flatMap((key) => this.getByKey(key) ?? [])
  }

  /** The first object with that indexed value, in constant time; undefined = there is none. */
  firstBy(index: string, value: string): T | undefined {
    return this.getByKey(this.#indexes.get(index)?.first(value) ?? '')
  }

  /** The number of objects with that indexed value, in constant time. */
  countBy(index: string, value: string): number {
    return this.#indexes.get(index)?.count(value) ?? 0
  }

  /** Adds a listener for every change from now on. */
  subscribe(listener: (change: StoreChange<T>) => void): void {
    this.#listeners.push(listener)
  }

  /** Calls back once the first list is complete; at once if it is complete already. */
  whenSynced(callback: () => void): void {
    if (this.#isSynced) callback()
    else this.#onSynced.push(callback)
  }

  begin(): void {
    this.#listNumber += 1
    this.#unswept = this.#slots.entries()
    this.#isListing = true
  }

  put(object: KubeObject): void {
    const after = this.#project(object)
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    // The event of our own write, and a late event, change nothing. A list also replaces newer objects, because
    // versions are lower after a restore of etcd, but not our own writes that were answered after it began.
    const listingWins = this.#isListing && slot?.observedAtList !== this.#listNumber
    if (slot && !listingWins && !isNewer(after, slot.item)) slot.listNumber = this.#listNumber
    else if (slot || this.#isListing || versionOf(after) > this.#removedAt)
      this.#set(key, after, slot)
  }

  remove(object: KubeObject): void {
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    if (slot?.item.uid !== object.metadata.uid) return
    // Events arrive in the order of versions: an event with a lower version than this removal is stale, and must
    // not restore the object.
    const removedAt = versionOf(object.metadata)
    if (removedAt > this.#removedAt) this.#removedAt = removedAt
    this.#delete(key, slot.item, false)
  }

  sweep(): boolean {
    let remaining = MAX_REMOVALS_PER_SWEEP
    for (const [key, { item, listNumber }] of this.#unswept) {
      if (listNumber === this.#listNumber) continue
      this.#delete(key, item, true)
      remaining -= 1
      if (remaining === 0) return true
    }
    return false
  }

  end(): void {
    this.#isListing = false
    while (this.sweep()) continue
    this.#removedAt = 0n
    this.#isSynced = true
    for (const callback of this.#onSynced.splice(0)) callback()
  }

  /**
   * Stores the response to a write of this process, so that the next reconcile sees it. An object that the watch has
   * removed meanwhile stays removed.
   */
  observe(object: KubeObject): void {
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    if (!slot || slot.item.uid !== object.metadata.uid) return
    const after = this.#project(object)
    const isUpdate = isFinalState(object) ? !isNewer(slot.item, after) : isNewer(after, slot.item)
    if (!isUpdate) return
    slot.observedAtList = this.#listNumber
    this.#replace(key, after, slot, false)
  }

  #set(key: string, after: T, slot: Slot<T> | undefined): void {
    if (slot) {
      slot.listNumber = this.#listNumber
      if (!isSame(after, slot.item)) this.#replace(key, after, slot, this.#isListing)
      return
    }
    this.#slots.set(key, { item: after, listNumber: this.#listNumber, observedAtList: 0 })
    this.#index(key, after, true)
    this.#notify({ key, name: after.name, before: undefined, after, listed: this.#isListing })
  }

  #replace(key: string, after: T, slot: Slot<T>, listed: boolean): void {
    const before = slot.item
    slot.item = after
    this.#reindex(key, before, after)
    this.#notify({ key, name: after.name, before, after, listed })
  }

  #delete(key: string, before: T, listed: boolean): void {
    this.#index(key, before, false)
    this.#slots.delete(key)
    this.#notify({ key, name: before.name, before, after: undefined, listed })
  }

  #index(key: string, item: T, present: boolean): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const index = this.#indexes.get(name)
      for (const value of valuesIn(valueOf(item)))
        if (present) index?.add(value, key)
        else index?.remove(value, key)
    }
  }

  /** Updates the indexes. With the same value and uid the object keeps its place. */
  #reindex(key: string, before: T, after: T): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const [old, now] = [valueOf(before), valueOf(after)]
      const index = this.#indexes.get(name)
      if (!index || (old === now && before.uid === after.uid)) continue
      for (const value of valuesIn(old)) index.remove(value, key)
      for (const value of valuesIn(now)) index.add(value, key)
    }
  }

  #notify(change: StoreChange<T>): void {
    notifyAll(this.#listeners, [change])
  }
}

const valuesIn = (value: IndexedValue): readonly string[] =>
  typeof value === 'string' ? [value] : (value ?? [])

/** Calls every listener with each change, even if one before it throws; then throws the first error. */
export function notifyAll<Change>(
  listeners: readonly ((change: Change) => void)[],
  changes: readonly Change[],
): void {
  const errors: unknown[] = []
  for (const change of changes) {
    for (const listener of listeners) {
      try {
        listener(change)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** Compares resourceVersions as etcd revisions, which grow with each write, even if an object is made anew. */
const isNewer = (after: CachedObject, before: CachedObject): boolean =>
  versionOf(after) > versionOf(before)

const versionOf = ({ resourceVersion }: Pick<CachedObject, 'resourceVersion'>): bigint =>
  BigInt(resourceVersion)

/**
 * Whether a response shows the last state of an object. When a patch removes the last finalizer of a deleted object,
 * the API server responds with the resourceVersion before the patch.
 */
const isFinalState = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0

const isSame = (after: CachedObject, before: CachedObject): boolean =>
  after.uid === before.uid && after.resourceVersion === before.resourceVersion
