// Events of ConfigMap `platform-jwks`: what happened to the signing keys.
import { CONFIG_MAPS, JWKS_CONFIG_MAP } from '../../api/names.ts'
import type { ConfigMap, KubeObject } from '../../api/objects.ts'
import type { SigningKeySecret } from '../../domain/signingkey/signing-key.ts'
import { regardingOf } from '../../kube/controller/object-writes.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { type SigningKeyTransition, corruptionsOf } from './plan.ts'

/** Where events are recorded. */
export interface ReportDeps {
  /** Holds the ConfigMap, if it exists. */
  readonly records: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly events: EventRecorder
}

/** Records an event for each corruption, once in the life of this process. */
export function reportCorrupt(
  secrets: readonly SigningKeySecret[],
  reported: Set<string>,
  deps: ReportDeps,
  context: ReconcileContext,
): void {
  const record = deps.records.get(JWKS_CONFIG_MAP, deps.namespace)
  if (!record) return
  const unreported = corruptionsOf(secrets).filter(
    ({ discriminator }) => !reported.has(discriminator),
  )
  recordEvents(record.object.metadata, unreported, deps, context)
  for (const { discriminator } of unreported) reported.add(discriminator)
}

/** Records an event for each transition. */
export function recordEvents(
  { uid }: KubeObject['metadata'],
  transitions: readonly SigningKeyTransition[],
  { events, namespace }: ReportDeps,
  { reconcileID }: ReconcileContext,
): void {
  const record = { name: JWKS_CONFIG_MAP, uid }
  const regarding = { ...regardingOf(CONFIG_MAPS, record), namespace }
  const normalReasons = ['SigningKeyRotated']
  recordTransitions(transitions, { regarding, normalReasons, reconcileID }, events)
}
