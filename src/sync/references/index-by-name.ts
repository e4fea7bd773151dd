// Which objects of a virtual cluster refer to which others (contract 16.2, 19.5).
import { notifyAll, objectKey } from '../../kube/informer/store.ts'
import type { ObjectReference } from '../patches/reference.ts'

/** An object that refers to others. */
export interface Referrer {
  /** As in manifests, such as `Endpoints`. */
  readonly kind: string
  /** As objectKey gives it. */
  readonly key: string
}

/** An object that has its first referrer, or has lost its last one. */
interface ReferenceChange {
  readonly target: ObjectReference
  readonly isReferenced: boolean
}

interface Target {
  readonly reference: ObjectReference
  /** By their text, as textOf gives it. */
  readonly referrers: Map<string, Referrer>
}

/**
 * The references to objects of built-in kinds, in both directions; others are neither synced nor imported because of a
 * reference. It holds no more than the referrers that are set.
 */
export class ReferenceIndex {
  readonly #targets = new Map<string, Target>()
  /** The texts of the targets, by the text of the referrer. */
  readonly #named = new Map<string, ReadonlySet<string>>()
  readonly #listeners: ((change: ReferenceChange) => void)[] = []

  /** Replaces what the referrer names. */
  set(referrer: Referrer, references: readonly ObjectReference[]): void {
    const text = textOf(referrer.kind, referrer.key)
    const before = this.#named.get(text) ?? NOTHING
    const builtIn = references.filter(({ apiVersion }) => apiVersion === 'v1')
    const after = new Map(
      builtIn.map(
        (reference) => [textOf(reference.kind, objectKey(reference)), reference] as const,
      ),
    )
    if (after.size === 0) this.#named.delete(text)
    else this.#named.set(text, new Set(after.keys()))
    const changes: ReferenceChange[] = []
    for (const target of before)
      if (!after.has(target)) changes.push(...this.#withoutReferrer(target, text))
    for (const [target, reference] of after)
      if (!before.has(target)) changes.push(...this.#withReferrer(target, reference, referrer))
    notifyAll(this.#listeners, changes)
  }

  /** Forgets an object that is gone, or refers to nothing any more. */
  remove(referrer: Referrer): void {
    this.set(referrer, [])
  }

  /** The objects that refer to an object of a built-in kind, by its virtual name. */
  referrersOf(kind: string, key: string): readonly Referrer[] {
    return [...(this.#targets.get(textOf(kind, key))?.referrers.values() ?? [])]
  }

  /** Whether an object refers to an object of a built-in kind. */
  isReferenced(kind: string, key: string): boolean {
    return this.#targets.has(textOf(kind, key))
  }

  /** Adds a listener for every change from now on; the index has changed when it is called. */
  subscribe(listener: (change: ReferenceChange) => void): void {
    this.#listeners.push(listener)
  }

  #withReferrer(
    text: string,
    reference: ObjectReference,
    referrer: Referrer,
  ): readonly ReferenceChange[] {
    const target = this.#targets.get(text) ?? { reference, referrers: new Map() }
    this.#targets.set(text, target)
    target.referrers.set(textOf(referrer.kind, referrer.key), referrer)
    return target.referrers.size === 1 ? [{ target: target.reference, isReferenced: true }] : []
  }

  #withoutReferrer(text: string, referrer: string): readonly ReferenceChange[] {
    const target = this.#targets.get(text)
    target?.referrers.delete(referrer)
    if (!target || target.referrers.size > 0) return []
    this.#targets.delete(text)
    return [{ target: target.reference, isReferenced: false }]
  }
}

const NOTHING: ReadonlySet<string> = new Set()

/** As JSON: no text of one part can pass for the end of another. */
const textOf = (kind: string, key: string): string => JSON.stringify([kind, key])
