// Writes the status of a Config, and reports the changes.
import type { Config } from '../../api/config.gen.ts'
import { CONFIGS } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ConfigStep } from './plan.ts'

/** Callbacks for the platform_config_* metrics: after each check, and after each publication of valid settings. */
interface ConfigObserver {
  checked(isValid: boolean): void
  applied(atMs: number): void
}

/** Dependencies of publish. */
export interface ConfigPublishDeps {
  readonly client: KubeClient
  readonly configs: Store<FullObject<Config>>
  readonly events: EventRecorder
  readonly clock: Clock
  readonly observer: ConfigObserver
}

/** Writes the status of the step. @throws StatusError 409 when the Config has changed */
export async function publish(
  config: Config,
  { status, announce }: Extract<ConfigStep, { kind: 'publish' }>,
  { client, configs, events, clock, observer }: ConfigPublishDeps,
  { log, reconcileID }: ReconcileContext,
): Promise<void> {
  await applyStatus({ client, resource: CONFIGS, store: configs }, config.metadata, status)
  const ready = status.conditions[0]
  log.info({ reason: ready?.reason }, 'config status published')
  if (ready?.status === 'True') observer.applied(clock.nowMs())
  const regarding = regardingOf(CONFIGS, config.metadata)
  const normalReasons = ['ConfigApplied']
  recordTransitions(announce, { regarding, normalReasons, reconcileID }, events)
}
