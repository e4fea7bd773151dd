// One pair in one reconcile.
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { SyncedObject } from '../objects/synced-object.ts'

/** Both objects as last read, and the reconcile that has read them. */
export interface ReconciledPair {
  /** The key of the virtual object. */
  readonly key: string
  /** null = it does not exist. */
  readonly virtual: SyncedObject | null
  /** null = it does not exist. */
  readonly host: SyncedObject | null
  /** What the log and the Events of this reconcile have in common. */
  readonly context: ReconcileContext
}

/** A pair whose virtual object exists. */
export type ExistingPair = ReconciledPair & { readonly virtual: SyncedObject }
