import type { Config } from '../../api/config.gen.ts'
import { API_VERSION, CONFIGS } from '../../api/names.ts'
import { isRefusal } from '../../kube/client/api-error.ts'
import {
  type Outcome,
  done,
  requeueAfterWrite,
  requeueAt,
  sooner,
} from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { ConfigStep } from './plan.ts'
import { type ConfigPlanSources, planFor } from './plan-input.ts'
import { publish } from './publish.ts'
import { type RefusalDeps, reportRefusal } from './refusal.ts'
import { ignoreConflict, recordSettings, writeSecretSettings } from './published-settings.ts'
import { followToken } from './store-token.ts'

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
  const { step, isValid, againMs } = planFor(stored.object, deps)
  let outcome: Outcome
  try {
    outcome = await perform(step, stored.object, deps, context)
  } catch (error) {
    if (name === deps.configName)
      await reportRefusal(error, { step, config: stored.object }, deps, context)
    throw error
  }
  if (isValid !== null) deps.observer.checked(isValid)
  return sooner(outcome, requeueAfterWrite(againMs, deps.clock.nowMs()))
}

async function perform(
  step: ConfigStep,
  config: Config,
  deps: ConfigDeps,
  context: ReconcileContext,
): Promise<Outcome> {
  switch (step.kind) {
    case 'nothing':
      return done
    case 'record':
      return record(step.data, deps, context)
    case 'storeToken':
      await followToken(step.ref, deps, context.log)
      return requeueAt(deps.clock.nowMs())
    case 'secretSettings':
      return writeSecret(step, deps, context)
    case 'publish':
      await publish(config, step, deps, context)
      return done
    default:
      return step satisfies never
  }
}

async function record(
  data: Extract<ConfigStep, { kind: 'record' }>['data'],
  deps: ConfigDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  await recordSettings(data, deps)
  log.info({}, 'settings in force recorded')
  return done
}

/** How long the reader of an optional Secret, whose namespace was missing, waits for its settings at most. */
const TRY_AGAIN_MS = 10_000

async function writeSecret(
  { secret: { name, reader, isOptional }, text }: Extract<ConfigStep, { kind: 'secretSettings' }>,
  { client, settingsSecrets, clock }: ConfigDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  const secret = settingsSecrets.find((one) => one.name === name)
  if (!secret) return done
  try {
    await writeSecretSettings(text, secret, client)
  } catch (error) {
    if (!isOptional || !isRefusal(error, false)) throw error
    // Its namespace is missing or ends, or another refuses the Secret: the settings are in force for all others.
    log.warn({ err: error, reader }, 'cannot write settings for a process, trying again')
    return requeueAt(clock.nowMs() + TRY_AGAIN_MS)
  }
  log.info({ reader }, 'settings written for a process')
  return done
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
