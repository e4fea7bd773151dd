// Writes the status of a key, and reports the changes.
import { ACCESS_KEYS } from '../../api/names.ts'
import { type AccessKey, keyIdOf } from '../../domain/accesskey/access-key.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type ObjectTarget, applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import { type Outcome, requeueAfterWrite } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KeyStep, KeyTransition } from './plan.ts'

/** Called for each expiry, for the platform_* metrics. */
interface KeyObserver {
  /** @param lagSeconds from the key's expiry to the write of its status */
  expired(lagSeconds: number): void
}

/** Dependencies of publish. */
export interface KeyPublishDeps {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly caps: () => Caps
  readonly clock: Clock
  readonly events: EventRecorder
  readonly observer: KeyObserver
}

/** Where keys are written. */
export const targetOf = ({
  client,
  keys,
}: Pick<KeyPublishDeps, 'client' | 'keys'>): ObjectTarget => ({
  client,
  resource: ACCESS_KEYS,
  store: keys,
})

/** Writes the status of the step. @throws StatusError 409 when the key has changed */
export async function publish(
  key: AccessKey,
  { status, announce, wakeMs }: Extract<KeyStep, { kind: 'publish' }>,
  deps: KeyPublishDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<Outcome> {
  const { clock, caps, observer } = deps
  await applyStatus(targetOf(deps), key, status)
  recordEvents(key, announce, deps, reconcileID)
  const nowMs = clock.nowMs()
  if (announce.some(({ reason }) => reason === 'Expired')) {
    const lagMs = nowMs - (lifetimeOf(key, caps(), nowMs).expiresMs ?? nowMs)
    observer.expired(lagMs / 1000)
    const { expirationTimestamp } = status
    log.info({ ...keyIdField(key), expirationTimestamp, lagMs }, 'access key expired')
  }
  return requeueAfterWrite(wakeMs, nowMs)
}

/** A field of the log: by the key ID it tells what happened to a key that leaked (contract 1.5). */
export const keyIdField = (key: AccessKey): { readonly keyID?: string } =>
  key.digest === null ? {} : { keyID: keyIdOf(key) }

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly KeyTransition['reason'][] = ['KeyGenerated']

/** Records an Event for each transition. */
export function recordEvents(
  key: AccessKey,
  transitions: readonly KeyTransition[],
  { events }: KeyPublishDeps,
  reconcileID: string,
): void {
  const regarding = regardingOf(ACCESS_KEYS, key)
  recordTransitions(transitions, { regarding, normalReasons: NORMAL_REASONS, reconcileID }, events)
}
