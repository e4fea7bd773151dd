// The names of the virtual cluster that references name: a host object can be imported under each.
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { SyncedKind } from '../objects/synced-kinds.ts'

/** A name of the virtual cluster that references name. */
export interface ImportName {
  readonly kind: SyncedKind
  /** As objectKey gives it. */
  readonly key: string
}

/** An import in one reconcile: its lines and Events have the ID of that. */
export interface ReconciledImport extends ImportName {
  readonly context: ReconcileContext
}

/** The key of a name in work queues and maps, such as `secrets/shop/db`. */
export const importKey = ({ kind, key }: ImportName): string => `${kind}/${key}`

/** The name of a key. @param text as importKey gives it */
export function importNameOf(text: string): ImportName {
  const at = text.indexOf('/')
  return { kind: text.slice(0, at) as SyncedKind, key: text.slice(at + 1) }
}
