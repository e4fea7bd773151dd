// Stores of wanted parts of a collection, such as one object or one namespace, each filled by an informer of its own.
import type { KubeObject } from '../../api/objects.ts'
import type { Informer } from './informers.ts'
import { type CachedObject, Store, type StoreChange } from './store.ts'

/** How the parts of a collection are read. */
interface ShardedStoreOptions<T extends CachedObject> {
  /** As in Store. */
  readonly project: (object: KubeObject) => T
  /** Called when the first list of a part is complete. */
  readonly onRead: (part: string, store: Store<T>) => void
  /** Called with each change after that. */
  readonly onChange: (change: StoreChange<T>) => void
}

/** The wanted parts by their names. A part is unknown until its first list is complete. */
export class ShardedStore<T extends CachedObject> {
  readonly #options: ShardedStoreOptions<T>
  readonly #wanted = new Map<string, { readonly store: Store<T>; readonly stop: () => void }>()

  constructor(options: ShardedStoreOptions<T>) {
    this.#options = options
  }

  /** The number of wanted parts. */
  get size(): number {
    return this.#wanted.size
  }

  /** Whether the part is wanted. */
  has(part: string): boolean {
    return this.#wanted.has(part)
  }

  /** The names of the wanted parts. */
  names(): readonly string[] {
    return [...this.#wanted.keys()]
  }

  /**
   * Starts to read the part; does nothing if it is read already.
   *
   * @param start starts its informer; null = nothing can be in it
   */
  want(part: string, start: (store: Store<T>) => Informer | null): void {
    if (this.#wanted.has(part)) return
    const { project, onRead, onChange } = this.#options
    const store = new Store(project)
    // After a release, a watch that was stopped may still deliver what it has read.
    const isCurrent = (): boolean => this.read(part) === store
    store.subscribe((change) => {
      if (isCurrent()) onChange(change)
    })
    store.whenSynced(() => {
      if (isCurrent()) onRead(part, store)
    })
    let informer: Informer | null = null
    this.#wanted.set(part, { store, stop: () => informer?.stop() })
    informer = start(store)
    if (informer !== null) return
    store.begin()
    store.end()
  }

  /** Ends the reading. The part is unknown from now on. */
  release(part: string): void {
    this.#wanted.get(part)?.stop()
    this.#wanted.delete(part)
  }

  /** The store of the part; undefined = it is not wanted, or not read yet. */
  read(part: string): Store<T> | undefined {
    const store = this.#wanted.get(part)?.store
    return store?.synced ? store : undefined
  }

  /** As in Store. */
  observe(part: string, object: KubeObject): void {
    this.#wanted.get(part)?.store.observe(object)
  }
}
