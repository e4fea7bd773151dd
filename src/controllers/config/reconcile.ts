import type { Config } from '../../api/config.gen.ts'
import { API_VERSION, CONFIGS } from '../../api/names.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { ConfigStep } from './plan.ts'
import { type ConfigPlanSources, planFor } from './plan-input.ts'
import { publish } from './publish.ts'
import { type RefusalDeps, reportRefusal } from './refusal.ts'
import { ignoreConflict, recordSettings, writeSecretSettings } from './published-settings.ts'

/** Dependencies of the reconciler. */
export interface ConfigDeps extends ConfigPlanSources, RefusalDeps {}

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
      return record(step.data, deps, context)
    case 'secretSettings':
      await writeSecretSettings(step.text, deps)
      return context.log.info({}, 'secret settings of the gateway written')
    case 'publish':
      return publish(config, step, deps, context)
    default:
      return step satisfies never
  }
}

async function record(
  data: Extract<ConfigStep, { kind: 'record' }>['data'],
  deps: ConfigDeps,
  { log }: ReconcileContext,
): Promise<void> {
  await recordSettings(data, deps)
  log.info({}, 'settings in force recorded')
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
