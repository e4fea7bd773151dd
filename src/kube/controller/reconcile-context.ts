// The identity of one reconcile, as in controller-runtime: its ID is in each of its log lines and Events, so that what one
// pass over an object did can be found together.
import { randomUUID } from 'node:crypto'
import type { Log } from '../../runtime/log.ts'
import type { CachedObject } from '../informer/store.ts'

/** One reconcile, for what it logs and records. */
export interface ReconcileContext {
  /** A UUID. */
  readonly reconcileID: string
  /**
   * Its lines have `controller`, `object` and `reconcileID`. The object is looked up when this is read first: read it
   * before a write, after which the object may be gone.
   */
  readonly log: Log
}

/** An object as a line of the log names it: one that does not exist has only its name. */
export type LoggedObject = Pick<CachedObject, 'name' | 'namespace'> &
  Partial<Pick<CachedObject, 'uid' | 'resourceVersion'>>

/** The reconcile of one key. */
interface ReconcileOf {
  readonly controller: string
  readonly key: string
  /** As in ControllerOptions. */
  readonly objectOf: (key: string) => LoggedObject | undefined
  readonly log: Log
}

/** A new reconcile, which costs nothing until it logs. */
export const createReconcileContext = (of: ReconcileOf): ReconcileContext => new Reconcile(of)

/** A resync reconciles 100,000 keys, most of which log nothing: their ID and their log are made when they are read first. */
class Reconcile implements ReconcileContext {
  readonly #of: ReconcileOf
  #id: string | null = null
  #log: Log | null = null

  constructor(of: ReconcileOf) {
    this.#of = of
  }

  get reconcileID(): string {
    this.#id ??= randomUUID()
    return this.#id
  }

  get log(): Log {
    if (this.#log !== null) return this.#log
    const { controller, key, objectOf, log } = this.#of
    const found = objectOf(key)
    const object = found ? referenceOf(found) : { name: key }
    this.#log = log.child({ controller, object, reconcileID: this.reconcileID })
    return this.#log
  }
}

const referenceOf = ({ name, namespace, uid, resourceVersion }: LoggedObject): LoggedObject => ({
  ...(namespace === undefined ? {} : { namespace }),
  name,
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
})
