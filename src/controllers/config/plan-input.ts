// Collects what the plan of a Config needs to know, from the stores, the environment and the signing keys.
import type { Config } from '../../api/config.gen.ts'
import { IN_FORCE_CONFIG_MAP, SIGN_IN_STATUS_CONFIG_MAP } from '../../api/names.ts'
import { SECRET_STORE_STATUS_CONFIG_MAP } from '../../api/secret-store-names.ts'
import { type ConfigMap, type Secret, secretText } from '../../api/objects.ts'
import type { SecretSource } from '../../domain/settings/resolve.ts'
import type { SchemaCheck } from '../../domain/settings/schema.ts'
import type { Environment } from '../../domain/settings/secret-values.ts'
import { type ProviderStatus, providerStatusIn } from '../../domain/signin/provider-status.ts'
import { type ReportedStoreStatus, storeStatusIn } from '../../domain/store/store-status.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import type { FollowedIssuer } from '../../settings/issuer.ts'
import { type ConfigStep, planInForce, planNotInForce } from './plan.ts'
import { storedSecrets, type WatchedSettingsSecret } from './settings-secrets.ts'
import type { StoreTokenDeps } from './store-token.ts'

/** Where the input comes from. `secrets` holds the Secret with settings, `configMaps` holds the record of the settings in force and the state of the secret store, among others. */
export interface ConfigPlanSources {
  readonly secrets: Store<FullObject<Secret>>
  readonly settingsSecrets: readonly WatchedSettingsSecret[]
  /** Has ConfigMap `platform-sign-in-status`, where it exists and this process may read it. */
  readonly signInStatus: Store<FullObject<ConfigMap>>
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly storeToken: StoreTokenDeps['storeToken']
  readonly configName: string
  readonly namespace: string
  readonly signInNamespace: string
  readonly issuer: Pick<FollowedIssuer, 'current' | 'next'>
  readonly signingKeyFaults: () => readonly string[]
  readonly environment: Environment
  /** Version of this program. */
  readonly platformVersion: string
  readonly shapeCheck: SchemaCheck
  readonly clock: Clock
}

/**
 * The step, and whether the sources of the Config in force have no faults; null for another Config. `againMs`: when it is to be
 * planned again without a change, epoch milliseconds; null = never.
 */
export function planFor(
  config: Config,
  sources: ConfigPlanSources,
): {
  readonly step: ConfigStep
  readonly isValid: boolean | null
  readonly againMs: number | null
} {
  const nowMs = sources.clock.nowMs()
  if (config.metadata.name !== sources.configName)
    return {
      step: planNotInForce(config, sources.configName, nowMs),
      isValid: null,
      againMs: null,
    }
  const { environment, platformVersion, shapeCheck } = sources
  const [now, next] = [sources.issuer.current(), sources.issuer.next()]
  const secret = secretSourceOf(sources.secrets.get(sources.configName, sources.namespace)?.object)
  const stored = sources.configMaps.get(IN_FORCE_CONFIG_MAP, sources.namespace)
  const recorded = stored ? (stored.object.data ?? {}) : null
  return planInForce({
    config,
    secret,
    record: recorded,
    environment,
    platformVersion,
    shapeCheck,
    issuerToCome: now !== null && next !== null ? { now, next } : null,
    signingKeyFaults: sources.signingKeyFaults(),
    settingsSecrets: storedSecrets(sources.settingsSecrets),
    providers: providersIn(sources),
    secretStore: storeStateIn(sources),
    storeToken: sources.storeToken.known,
    nowMs,
  })
}

function providersIn({ signInStatus, signInNamespace }: ConfigPlanSources): ProviderStatus | null {
  const stored = signInStatus.get(SIGN_IN_STATUS_CONFIG_MAP, signInNamespace)
  return providerStatusIn(stored?.object.data?.['status'] ?? '')
}

function storeStateIn({ configMaps, namespace }: ConfigPlanSources): ReportedStoreStatus | null {
  const stored = configMaps.get(SECRET_STORE_STATUS_CONFIG_MAP, namespace)
  return storeStatusIn(stored?.object.data?.['status'] ?? '')
}

/** The content of the Secret, or the reason why it is unreadable, which quotes none of it. */
function secretSourceOf(secret: Secret | undefined): SecretSource {
  if (!secret) return { kind: 'absent' }
  const text = secretText(secret, 'config')
  if (text === null) return { kind: 'unreadable', because: 'has no key config' }
  try {
    return { kind: 'parsed', value: parseYaml(text) }
  } catch (error) {
    return {
      kind: 'unreadable',
      because: `is ${error instanceof Error ? error.message : 'not valid YAML'}`,
    }
  }
}
