import type { Config } from '../../api/config.gen.ts'
import { API_VERSION, CONFIGS, CONFIG_MAPS, IN_FORCE_CONFIG_MAP } from '../../api/names.ts'
import type { ConfigMap, Secret } from '../../api/objects.ts'
import type { ConfigMapData } from '../../domain/settings/effective-settings.ts'
import type { SecretSource } from '../../domain/settings/resolve.ts'
import type { SchemaCheck } from '../../domain/settings/schema.ts'
import type { Environment } from '../../domain/settings/secret-values.ts'
import { StatusError, isConflict, isRefusal } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyStatus, regardingOf } from '../../kube/controller/object-writes.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import type { FollowedIssuer } from '../../settings/issuer.ts'
import { type ConfigStep, planInForce, planNotInForce, planNotWritten } from './plan.ts'

/** Callbacks for the platform_config_* metrics: after each check, and after each publication of valid settings. */
interface ConfigObserver {
  checked(isValid: boolean): void
  applied(atMs: number): void
}

/** Dependencies of the reconciler. `configMaps` holds the record of the settings in force, among others. */
export interface ConfigDeps {
  readonly client: KubeClient
  readonly configs: Store<FullObject<Config>>
  readonly secrets: Store<FullObject<Secret>>
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly configName: string
  readonly namespace: string
  readonly issuer: Pick<FollowedIssuer, 'current' | 'next'>
  readonly signingKeyFaults: () => readonly string[]
  /** When a refused write was published last, epoch milliseconds; null = never. The reconciler sets it. */
  readonly lastReport: { atMs: number | null }
  readonly environment: Environment
  /** Version of this program. */
  readonly platformVersion: string
  readonly shapeCheck: SchemaCheck
  readonly events: EventRecorder
  readonly clock: Clock
  readonly observer: ConfigObserver
}

/** Why Configs are written, for metrics. */
export const CONFIG_WRITE_REASONS = ['create', 'status'] as const

/** Why the record of the settings in force is written, for metrics. */
export const RECORD_WRITE_REASONS = ['record'] as const

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

/** The step, and whether the sources of the Config in force have no faults; null for another Config. */
function planFor(
  config: Config,
  deps: ConfigDeps,
): { readonly step: ConfigStep; readonly isValid: boolean | null } {
  const nowMs = deps.clock.nowMs()
  if (config.metadata.name !== deps.configName)
    return { step: planNotInForce(config, deps.configName, nowMs), isValid: null }
  const { environment, platformVersion, shapeCheck } = deps
  const [now, next] = [deps.issuer.current(), deps.issuer.next()]
  const secret = secretSourceOf(deps.secrets.get(deps.configName, deps.namespace)?.object)
  const stored = deps.configMaps.get(IN_FORCE_CONFIG_MAP, deps.namespace)
  const recorded = stored ? (stored.object.data ?? {}) : null
  return planInForce({
    config,
    secret,
    record: recorded,
    environment,
    platformVersion,
    shapeCheck,
    issuerToCome: now !== null && next !== null ? { now, next } : null,
    signingKeyFaults: deps.signingKeyFaults(),
    nowMs,
  })
}

/** The content of the Secret, or the reason why it is unreadable, which quotes none of it. */
function secretSourceOf(secret: Secret | undefined): SecretSource {
  if (!secret) return { kind: 'absent' }
  const encoded = secret.data?.['config']
  if (encoded === undefined) return { kind: 'unreadable', because: 'has no key config' }
  try {
    return { kind: 'parsed', value: parseYaml(Buffer.from(encoded, 'base64').toString('utf8')) }
  } catch (error) {
    return {
      kind: 'unreadable',
      because: `is ${error instanceof Error ? error.message : 'not valid YAML'}`,
    }
  }
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

async function record(
  data: ConfigMapData,
  { client, configMaps, namespace }: ConfigDeps,
  { log }: ReconcileContext,
): Promise<void> {
  const envelope = { apiVersion: 'v1', kind: CONFIG_MAPS.kind }
  const stored = configMaps.get(IN_FORCE_CONFIG_MAP, namespace)
  const metadata = { name: IN_FORCE_CONFIG_MAP, namespace }
  if (stored) {
    const { uid, resourceVersion } = stored
    configMaps.observe(
      await client.apply(
        CONFIG_MAPS,
        { ...envelope, metadata: { ...metadata, uid, resourceVersion }, data },
        'record',
      ),
    )
  } else {
    await ignoreConflict(client.create(CONFIG_MAPS, { ...envelope, metadata, data }, 'record'))
  }
  log.info({}, 'settings in force recorded')
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

/** Ignores a conflict of a create: the object has a fixed name and exists already. */
async function ignoreConflict(creation: Promise<unknown>): Promise<void> {
  try {
    await creation
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
