// Objects that this replica creates: the quota counts each from its admission until the informer has it.
import type { KeyRef } from '../../domain/shared-metadata.ts'
import type { Clock } from '../../runtime/clock.ts'

/** The store of an informer, as far as the quota needs it. */
interface ObservedStore {
  readonly get: (name: string) => { readonly uid: string } | undefined
  readonly subscribe: (
    listener: (change: {
      readonly before: { readonly uid: string } | undefined
      readonly after: { readonly uid: string } | undefined
    }) => void,
  ) => void
}

/** An object that is being created. */
interface PendingObject {
  isStored: boolean
  isObserved: boolean
  /** It counts until this time at the latest, in milliseconds of the monotonic clock. */
  untilMs: number
}

/** The reserved place of a pending object. */
interface PendingPlace {
  /** Reports that the object is stored. */
  readonly stored: (made: KeyRef) => void
  /** Frees the place, unless the object is stored. */
  readonly leave: () => void
}

/** The time in milliseconds within which the informer gets an object that this replica has stored. */
const OBSERVED_WITHIN_MS = 10_000

/** The pending objects by owner: a text for the user, team or subject, and the kind. */
export class PendingObjects {
  readonly #clock: Clock
  readonly #byOwner = new Map<string, readonly PendingObject[]>()
  /** Stored objects that the informer does not have yet, by uid, the oldest first. */
  readonly #unobserved = new Map<string, PendingObject>()

  /** @param stores of the informers that get the objects */
  constructor(stores: readonly ObservedStore[], clock: Clock) {
    this.#clock = clock
    for (const store of stores)
      store.subscribe(({ before, after }) => {
        this.#observe(before?.uid)
        this.#observe(after?.uid)
      })
  }

  /** How many objects of the owner the informer does not have yet. */
  count(owner: string): number {
    return this.#of(owner).length
  }

  /** Adds an object of the owner, before it is created. @param store of the informer that gets it */
  add(owner: string, store: ObservedStore): PendingPlace {
    const pending = { isStored: false, isObserved: false, untilMs: Number.POSITIVE_INFINITY }
    this.#byOwner.set(owner, [...this.#of(owner), pending])
    return {
      stored: (made) => this.#markStored(pending, made, store),
      leave: () => {
        if (!pending.isStored) this.#remove(owner, pending)
      },
    }
  }

  #of(owner: string): readonly PendingObject[] {
    return (this.#byOwner.get(owner) ?? []).filter(
      ({ isObserved, untilMs }) => !isObserved && this.#clock.monotonicMs() < untilMs,
    )
  }

  #remove(owner: string, pending: PendingObject): void {
    const others = this.#of(owner).filter((other) => other !== pending)
    if (others.length > 0) this.#byOwner.set(owner, others)
    else this.#byOwner.delete(owner)
  }

  #markStored(pending: PendingObject, { name, uid }: KeyRef, store: ObservedStore): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [other, { untilMs }] of this.#unobserved)
      if (untilMs <= nowMs) this.#unobserved.delete(other)
    pending.isStored = true
    pending.untilMs = nowMs + OBSERVED_WITHIN_MS
    pending.isObserved = store.get(name)?.uid === uid
    if (!pending.isObserved) this.#unobserved.set(uid, pending)
  }

  #observe(uid: string | undefined): void {
    const pending = this.#unobserved.get(uid ?? '')
    if (!pending) return
    pending.isObserved = true
    this.#unobserved.delete(uid ?? '')
  }
}
