import type { KubeObject } from '../api/meta.ts'
import { NamesByValue } from './names-by-value.ts'

/** What every cached object carries, whatever else its projection keeps. */
export interface Cached {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

/** A cached object kept whole: for the few that are settings, not for the many that are data. */
export interface Whole<T extends KubeObject> extends Cached {
  readonly object: T
}

/** The projection that keeps the object whole. */
export const whole = <T extends KubeObject>(object: KubeObject): Whole<T> => ({
  name: object.metadata.name,
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
  object: object as T,
})

/** What happened to an object. `listed`: it came with a full listing, nobody has just changed it. */
export interface Change<T> {
  readonly name: string
  readonly before: T | undefined
  readonly after: T | undefined
  readonly listed: boolean
}

/** What a watcher does to a store. */
export interface Sink {
  /** A full listing begins. */
  begin(): void
  put(object: KubeObject): void
  remove(object: KubeObject): void
  /** Takes out a part of what a complete listing did not hold, before `end`; whether there may be more. */
  sweep(): boolean
  /** The listing is complete: what it did not hold is gone. */
  end(): void
}

/** Named ways to find objects by a value of theirs; null = not in this index. */
export type Indexers<T> = Readonly<Record<string, (item: T) => string | null>>

/** In which order the objects of one indexed value are, by index; it never changes in the life of an object. */
export type Orders<T> = Readonly<Record<string, (item: T, other: T) => boolean>>

/** So many are taken out in one sweep: all that follows from each of them is done in the same turn. */
const MOST_AT_ONCE = 1000

interface Slot<T> {
  item: T
  /** The listing that held it last. */
  round: number
  /** The listing before whose end our own write to it was last taken in. */
  observed: number
}

/**
 * The objects of one resource as last seen, each as a slim projection (a raw object of 2 kB would
 * cost ten times as much, and would keep secrets in memory). Cluster-scoped, or of one namespace:
 * the name is the key.
 */
export class Store<T extends Cached> implements Sink {
  readonly #project: (object: KubeObject) => T
  readonly #slots = new Map<string, Slot<T>>()
  readonly #indexers: Indexers<T>
  readonly #indexes = new Map<string, NamesByValue>()
  readonly #listeners: ((change: Change<T>) => void)[] = []
  readonly #onSynced: (() => void)[] = []
  /** The latest version of what was removed since the last listing. */
  #removedAt = 0n
  #round = 0
  /** Those that the sweeps of this listing have not looked at yet: each of them goes on from there. */
  #unswept = this.#slots.values()
  #listing = false
  #synced = false

  /**
   * @param project what to keep of an object
   * @param orders whether an object comes before another of the same value, for indexes that keep an order
   */
  constructor(
    project: (object: KubeObject) => T,
    indexers: Indexers<T> = {},
    orders: Orders<T> = {},
  ) {
    this.#project = project
    this.#indexers = indexers
    for (const index of Object.keys(indexers)) {
      const isBefore = orders[index]
      const names = (name: string, other: string): boolean => this.#isBefore(name, other, isBefore)
      this.#indexes.set(index, new NamesByValue(isBefore ? names : null))
    }
  }

  #isBefore(name: string, other: string, isBefore: Orders<T>[string] | undefined): boolean {
    const [one, another] = [this.get(name), this.get(other)]
    return one !== undefined && another !== undefined && (isBefore?.(one, another) ?? false)
  }

  /** Whether a full listing has been seen. Stays true when the watch breaks later. */
  get synced(): boolean {
    return this.#synced
  }

  get size(): number {
    return this.#slots.size
  }

  /** The object of that name; undefined when there is none, or none is known yet. */
  get(name: string): T | undefined {
    return this.#slots.get(name)?.item
  }

  *values(): IterableIterator<T> {
    for (const slot of this.#slots.values()) yield slot.item
  }

  /** All objects whose indexed value is this one, in the order of the index where it keeps one. */
  by(index: string, value: string): readonly T[] {
    return (this.#indexes.get(index)?.names(value) ?? []).flatMap((name) => this.get(name) ?? [])
  }

  /** The first of them, found in the same steps whether there are none, one or thousands. */
  firstBy(index: string, value: string): T | undefined {
    return this.get(this.#indexes.get(index)?.first(value) ?? '')
  }

  /** How many they are, found without going through them. */
  countBy(index: string, value: string): number {
    return this.#indexes.get(index)?.count(value) ?? 0
  }

  /** Calls back for every change from now on. */
  subscribe(listener: (change: Change<T>) => void): void {
    this.#listeners.push(listener)
  }

  /** Calls back once the first full listing is complete; at once when it is. */
  whenSynced(callback: () => void): void {
    if (this.#synced) callback()
    else this.#onSynced.push(callback)
  }

  begin(): void {
    this.#round += 1
    this.#unswept = this.#slots.values()
    this.#listing = true
  }

  put(object: KubeObject): void {
    const after = this.#project(object)
    const slot = this.#slots.get(after.name)
    // An echo of our own write and a late event change nothing. A listing wins over what was there
    // before it, because after a restore from backup its versions are lower than ours; it does not
    // win over a write of ours that it began too early to hold.
    const listingWins = this.#listing && slot?.observed !== this.#round
    if (slot && !listingWins && !isNewer(after, slot.item)) slot.round = this.#round
    else if (slot || this.#listing || versionOf(after) > this.#removedAt) this.#set(after, slot)
  }

  remove(object: KubeObject): void {
    const slot = this.#slots.get(object.metadata.name)
    if (slot?.item.uid !== object.metadata.uid) return
    // A watch tells in the order of versions: what comes later with an earlier one is an old tale, and
    // raises no dead (threat C4).
    const removedAt = versionOf(object.metadata)
    if (removedAt > this.#removedAt) this.#removedAt = removedAt
    this.#drop(slot.item, false)
  }

  sweep(): boolean {
    let left = MOST_AT_ONCE
    for (const { item, round } of this.#unswept) {
      if (round === this.#round) continue
      this.#drop(item, true)
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
   * Takes in the answer to a write of ours, so that the next decision does not stand on the view
   * before it. An object that the watch has removed meanwhile stays removed.
   */
  observe(object: KubeObject): void {
    const slot = this.#slots.get(object.metadata.name)
    if (!slot || slot.item.uid !== object.metadata.uid) return
    const after = this.#project(object)
    const isNews = isLast(object) ? !isNewer(slot.item, after) : isNewer(after, slot.item)
    if (!isNews) return
    slot.observed = this.#round
    this.#replace(after, slot, false)
  }

  #set(after: T, slot: Slot<T> | undefined): void {
    if (slot) {
      slot.round = this.#round
      if (!isSame(after, slot.item)) this.#replace(after, slot, this.#listing)
      return
    }
    this.#slots.set(after.name, { item: after, round: this.#round, observed: 0 })
    this.#index(after, true)
    this.#tell({ name: after.name, before: undefined, after, listed: this.#listing })
  }

  #replace(after: T, slot: Slot<T>, listed: boolean): void {
    const before = slot.item
    slot.item = after
    this.#indexAnew(before, after)
    this.#tell({ name: after.name, before, after, listed })
  }

  #drop(before: T, listed: boolean): void {
    this.#index(before, false)
    this.#slots.delete(before.name)
    this.#tell({ name: before.name, before, after: undefined, listed })
  }

  #index(item: T, present: boolean): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const value = valueOf(item)
      const index = this.#indexes.get(name)
      if (value === null || !index) continue
      if (present) index.enter(value, item.name)
      else index.leave(value, item.name)
    }
  }

  /** What changes neither its value nor its uid keeps its place. */
  #indexAnew(before: T, after: T): void {
    for (const [name, valueOf] of Object.entries(this.#indexers)) {
      const [old, now] = [valueOf(before), valueOf(after)]
      const index = this.#indexes.get(name)
      if (!index || (old === now && before.uid === after.uid)) continue
      if (old !== null) index.leave(old, before.name)
      if (now !== null) index.enter(now, after.name)
    }
  }

  /** Every listener hears of it, also where one before it throws. */
  #tell(change: Change<T>): void {
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

/** etcd's revision decides, which grows with each write, also from one object to its successor. */
const isNewer = (after: Cached, before: Cached): boolean => versionOf(after) > versionOf(before)

const versionOf = ({ resourceVersion }: Pick<Cached, 'resourceVersion'>): bigint =>
  BigInt(resourceVersion)

/**
 * Whether an answer shows an object for the last time: the API server answers the patch that takes the last
 * finalizer off a deleted object with the version that it had before.
 */
const isLast = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0

const isSame = (after: Cached, before: Cached): boolean =>
  after.uid === before.uid && after.resourceVersion === before.resourceVersion
