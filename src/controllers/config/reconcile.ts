import type { Config } from '../../api/config.gen.ts'
import { API_VERSION, CONFIGS, IN_FORCE_CONFIG_MAP } from '../../api/names.ts'
import { StatusError, isRefusal } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { type ConfigStep, planNotWritten } from './plan.ts'
import { type ConfigPlanSources, planFor } from './plan-input.ts'
import { ignoreConflict, recordSettings } from './settings-record.ts'

/** Callbacks for the platform_config_* metrics: after each check, and after each publication of valid settings. */
interface ConfigObserver {
  checked(isValid: boolean): void
  applied(atMs: number): void
}

/** Dependencies of the reconciler. */
export interface ConfigDeps extends ConfigPlanSources {
  readonly client: KubeClient
  readonly configs: Store<FullObject<Config>>
  /** When a refused write was published last, epoch milliseconds; null = never. The reconciler sets it. */
  readonly lastReport: { atMs: number | null }
  readonly events: EventRecorder
  readonly observer: ConfigObserver
}

/** Why Configs are written, for metrics. */
export const CONFIG_WRITE_REASONS = ['create', 'status'] as const

/** Does the next step for a Config. If the Config in force does not exist, it is created (contract 6.1). */
export async function reconcile(
  name: string,
  deps: ConfigDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  const stored = deps.configs.get(name)
  if (!stored) return name === deps.configName ? create(deps, context) : done
  const { step, isValid } = planFor(stored.object, deps)
  try {
    await perform(step, stored.object, deps, context)
  } catch (error) {
    if (name === deps.configName)
      await reportRefusal(error, { step, config: stored.object }, deps, context)
    throw error
  }
  if (isValid !== null) deps.observer.checked(isValid)
  return done
}

async function perform(
  step: ConfigStep,
  config: Config,
  deps: ConfigDeps,
  context: ReconcileContext,
): Promise<void> {
  switch (step.kind) {
    case 'nothing':
      return
    case 'record':
      await recordSettings(step.data, deps)
      context.log.info({}, 'settings in force recorded')
      return
    case 'publish':
      return publish(config, step, deps, context)
    default:
      return step satisfies never
  }
}

/** Publishes that the API server refuses the settings. The caller throws on, so the write is tried again. */
async function reportRefusal(
  error: unknown,
  { step, config }: { readonly step: ConfigStep; readonly config: Config },
  deps: ConfigDeps,
  context: ReconcileContext,
): Promise<void> {
  const isRecord = step.kind === 'record'
  if (!isRefusal(error, !isRecord)) return
  deps.observer.checked(false)
  const objectName = isRecord ? `ConfigMap ${IN_FORCE_CONFIG_MAP}` : 'status of this Config'
  const nowMs = deps.clock.nowMs()
  const refused = { objectName, words: error.words }
  const report = planNotWritten(config, refused, deps.lastReport.atMs, nowMs)
  if (report.kind === 'publish') deps.lastReport.atMs = nowMs
  // Where not even this status can be written, the log has the first refusal.
  if (report.kind === 'publish')
    await publish(config, report, deps, context).catch((second: unknown) => {
      if (!(second instanceof StatusError)) throw second
    })
}

async function create(
  { client, configName }: ConfigDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  const object = {
    apiVersion: API_VERSION,
    kind: CONFIGS.kind,
    metadata: { name: configName },
    spec: {},
  }
  await ignoreConflict(client.create(CONFIGS, object, 'create'))
  log.info({}, 'config created, none existed')
  return done
}

async function publish(
  config: Config,
  { status, announce }: Extract<ConfigStep, { kind: 'publish' }>,
  { client, configs, events, clock, observer }: ConfigDeps,
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
