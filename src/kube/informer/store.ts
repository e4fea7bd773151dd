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

/** The key of an object in stores and work queues, as in client-go: `namespace/name`, or `name` where it is cluster-scoped. */
export const objectKey = ({ namespace, name }: ObjectRef): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/** A cached whole object: for the few objects with settings, not for the many keys and tokens. */
export interface FullObject<T extends KubeObject> extends CachedObject {
  readonly object: T
}

/** The projection that keeps the object whole. */
export const fullObject = <T extends KubeObject>(object: KubeObject): FullObject<T> => ({
  name: object.metadata.name,
  ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
  object: object as T,
})

/** A change of a cached object. `listed`: it was found by a list, so the change may be old. */
export interface StoreChange<T> {
  /** As objectKey gives it. */
  readonly key: string
  readonly name: string
  readonly before: T | undefined
  readonly after: T | undefined
  readonly listed: boolean
}

/** The side of a store that a reflector writes to. */
export interface StoreSink {
  /** A list begins. */
  begin(): void
  put(object: KubeObject): void
  remove(object: KubeObject): void
  /** Removes some of the objects that a complete list lacked, before `end`. True = there may be more. */
  sweep(): boolean
  /** The list is complete: objects that it lacked are gone. */
  end(): void
}

/** By index name, the value under which the index has an object; null = not in this index. */
export type Indexers<T> = Readonly<Record<string, (item: T) => string | null>>

/** By index, whether an object sorts before another of the same value. An object's place never changes in its life. */
export type SortOrders<T> = Readonly<Record<string, (item: T, other: T) => boolean>>

/** Removals in one sweep: listeners run in the same turn of the event loop. */
const MOST_AT_ONCE = 1000

interface Slot<T> {
  item: T
  /** The last list that had it. */
  round: number
  /** The list that was the latest when `observe` last stored the answer to a write of ours. */
  observed: number
}

/**
 * The cached objects of one resource, each as a slim projection: a raw object of 2 kB takes ten times the
 * memory, and keeps secrets in it. The key is `[namespace/]name`, so objects of several namespaces fit.
 */
export class Store<T extends CachedObject> implements StoreSink {
  readonly #project: (object: KubeObject) => T
  readonly #slots = new Map<string, Slot<T>>()
  readonly #indexers: Indexers<T>
  readonly #indexes = new Map<string, SortedIndex>()
  readonly #listeners: ((change: StoreChange<T>) => void)[] = []
  readonly #onSynced: (() => void)[] = []
  /** The highest resourceVersion of a removal since the last list. */
  #removedAt = 0n
  #round = 0
  /** The objects that the sweeps of this list have not checked yet. */
  #unswept = this.#slots.entries()
  #listing = false
  #synced = false

  /**
   * @param project what to keep of an object
   * @param orders for indexes that keep an order
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

  /** Whether a list has been complete. Stays true when the watch breaks later. */
  get synced(): boolean {
    return this.#synced
  }

  get size(): number {
    return this.#slots.size
  }

  /**
   * The object of that name; undefined = there is none, or the store does not have it yet.
   *
   * @param namespace required for namespaced kinds, absent for cluster-scoped ones
   */
  get(name: string, namespace?: string): T | undefined {
    return this.getByKey(namespace === undefined ? name : objectKey({ namespace, name }))
  }

  /** The object of a key that objectKey gave; undefined as for get. */
  getByKey(key: string): T | undefined {
    return this.#slots.get(key)?.item
  }

  *values(): IterableIterator<T> {
    for (const slot of this.#slots.values()) yield slot.item
  }

  /** All objects whose indexed value is this one, in the order of the index where it keeps one. */
  by(index: string, value: string): readonly T[] {
    return (this.#indexes.get(index)?.keys(value) ?? []).flatMap((key) => this.getByKey(key) ?? [])
  }

  /** The first of them, in constant time however many there are. */
  firstBy(index: string, value: string): T | undefined {
    return this.getByKey(this.#indexes.get(index)?.first(value) ?? '')
  }

  /** How many they are, in constant time. */
  countBy(index: string, value: string): number {
    return this.#indexes.get(index)?.count(value) ?? 0
  }

  /** Adds a listener for every change from now on. */
  subscribe(listener: (change: StoreChange<T>) => void): void {
    this.#listeners.push(listener)
  }

  /** Calls back once the first list is complete; at once when it is already. */
  whenSynced(callback: () => void): void {
    if (this.#synced) callback()
    else this.#onSynced.push(callback)
  }

  begin(): void {
    this.#round += 1
    this.#unswept = this.#slots.entries()
    this.#listing = true
  }

  put(object: KubeObject): void {
    const after = this.#project(object)
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    // The event of our own write, and a late event, change nothing. A list replaces older objects, as after
    // a restore of etcd its versions are lower than ours. It does not replace a write that it began too
    // early to have.
    const listingWins = this.#listing && slot?.observed !== this.#round
    if (slot && !listingWins && !isNewer(after, slot.item)) slot.round = this.#round
    else if (slot || this.#listing || versionOf(after) > this.#removedAt)
      this.#set(key, after, slot)
  }

  remove(object: KubeObject): void {
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    if (slot?.item.uid !== object.metadata.uid) return
    // Events arrive in the order of versions. So an event with an earlier version than this removal is
    // stale, and must not restore the object (threat C4).
    const removedAt = versionOf(object.metadata)
    if (removedAt > this.#removedAt) this.#removedAt = removedAt
    this.#drop(key, slot.item, false)
  }

  sweep(): boolean {
    let left = MOST_AT_ONCE
    for (const [key, { item, round }] of this.#unswept) {
      if (round === this.#round) continue
      this.#drop(key, item, true)
      left -= 1
      if (left === 0) return true
    }
    return false
  }

  end(): void {
    this.#listing = false
    while (this.sweep()) continue
    this.#removedAt = 0n
    this.#synced = true
    for (const callback of this.#onSynced.splice(0)) callback()
  }

  /**
   * Stores the answer to a write of ours, so that the next decision sees it. An object that the watch
   * has removed meanwhile stays removed.
   */
  observe(object: KubeObject): void {
    const key = objectKey(object.metadata)
    const slot = this.#slots.get(key)
    if (!slot || slot.item.uid !== object.metadata.uid) return
    const after = this.#project(object)
    const isUpdate = isLast(object) ? !isNewer(slot.item, after) : isNewer(after, slot.item)
    if (!isUpdate) return
    slot.observed = this.#round
    this.#replace(key, after, slot, false)
  }

  #set(key: string, after: T, slot: Slot<T> | undefined): void {
    if (slot) {
      slot.round = this.#round
      if (!isSame(after, slot.item)) this.#replace(key, after, slot, this.#listing)
      return
    }
    this.#slots.set(key, { item: after, round: this.#round, observed: 0 })
    this.#index(key, after, true)
    this.#notify({ key, name: after.name, before: undefined, after, listed: this.#listing })
  }

  #replace(key: string, after: T, slot: Slot<T>, listed: boolean): void {
    const before = slot.item
    slot.item = after
    this.#reindex(key, before, after)
    this.#notify({ key, name: after.name, before, after, listed })
  }

  #drop(key: string, before: T, listed: boolean): void {
    this.#index(key, before, false)
    this.#slots.delete(key)
    this.#notify({ key, name: before.name, before, after: undefined, listed })
  }

  #index(key: string, item: T, present: boolean): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const value = valueOf(item)
      const index = this.#indexes.get(name)
      if (value === null || !index) continue
      if (present) index.add(value, key)
      else index.remove(value, key)
    }
  }

  /** Moves the object in the indexes. With the same value and uid it keeps its place. */
  #reindex(key: string, before: T, after: T): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const [old, now] = [valueOf(before), valueOf(after)]
      const index = this.#indexes.get(name)
      if (!index || (old === now && before.uid === after.uid)) continue
      if (old !== null) index.remove(old, key)
      if (now !== null) index.add(now, key)
    }
  }

  /** Calls every listener, also when one before it throws. */
  #notify(change: StoreChange<T>): void {
    const errors: unknown[] = []
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** Compares etcd's revisions: they grow with each write, also when an object is deleted and created again. */
const isNewer = (after: CachedObject, before: CachedObject): boolean =>
  versionOf(after) > versionOf(before)

const versionOf = ({ resourceVersion }: Pick<CachedObject, 'resourceVersion'>): bigint =>
  BigInt(resourceVersion)

/**
 * Whether an answer is the last of an object: for the patch that removes the last finalizer of a deleted
 * object, the API server answers with the version before that patch.
 */
const isLast = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0

const isSame = (after: CachedObject, before: CachedObject): boolean =>
  after.uid === before.uid && after.resourceVersion === before.resourceVersion
