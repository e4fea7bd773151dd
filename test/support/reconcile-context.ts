import type { ControllerSpec } from '../../src/kube/controller/builder.ts'
import {
  createReconcileContext,
  type ReconcileContext,
} from '../../src/kube/controller/reconcile-context.ts'
import type { Log } from '../../src/runtime/log.ts'
import { memoryLog } from './memory-log.ts'

/** The ID of each reconcile of a test. */
export const RECONCILE_ID = '6f0d5a3e-0000-4000-8000-000000000001'

/** A reconcile whose lines go to this log; without one they are dropped. */
export const reconcileContext = (log: Log = memoryLog().log): ReconcileContext => ({
  reconcileID: RECONCILE_ID,
  log,
})

/** A reconcile of a key by its controller, as the work loop makes it. */
export const contextIn = (
  { name, objectOf }: Pick<ControllerSpec, 'name' | 'objectOf'>,
  key: string,
  log: Log,
): ReconcileContext => createReconcileContext({ controller: name, key, objectOf, log })
