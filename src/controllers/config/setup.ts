import type { Config } from '../../api/config.gen.ts'
import type { MetricName } from '../../api/metrics.ts'
import {
  CONFIGS,
  CONFIG_MAPS,
  GATEWAY_SETTINGS_SECRET,
  IN_FORCE_CONFIG_MAP,
  SECRETS,
  SIGN_IN_SETTINGS_SECRET,
  SIGN_IN_STATUS_CONFIG_MAP,
} from '../../api/names.ts'
import {
  DELIVERY_SETTINGS_SECRET,
  SECRET_STORE_STATUS_CONFIG_MAP,
} from '../../api/secret-store-names.ts'
import type { ConfigMap, Secret } from '../../api/objects.ts'
import { checkSettingsSchema } from '../../domain/settings/schema.ts'
import { type ControllerSpec, onChange, onSignal } from '../../kube/controller/builder.ts'
import { type WatchSettings, everyObject, oneObject } from '../../kube/controller/definition.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { FollowedIssuer } from '../../settings/issuer.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { CONFIG_WRITE_REASONS, type ConfigDeps, reconcile } from './reconcile.ts'
import { RECORD_WRITE_REASONS, SECRET_SETTINGS_WRITE_REASONS } from './published-settings.ts'
import { settingsSecrets } from './settings-secrets.ts'

/** Setters of the platform_config_* metrics. */
interface ConfigMetrics {
  readonly configChecked: (isValid: boolean) => void
  /** @param atMs epoch milliseconds */
  readonly configApplied: (atMs: number) => void
}

/** Registers the metrics of the settings in force. */
function configMetrics({ gauge }: Instruments<MetricName>): ConfigMetrics {
  const valid = gauge('platform_config_valid', [{}])
  const applied = gauge('platform_config_last_applied_timestamp_seconds', [{}])
  // Valid until the first check: a standby replica never checks.
  valid.set(1)
  return {
    configChecked: (isValid) => valid.set(isValid ? 1 : 0),
    configApplied: (atMs) => applied.set(atMs / 1000),
  }
}

/** What the controller of Configs needs from the process. */
export interface ConfigSetup extends Pick<ConfigDeps, 'client' | 'events' | 'clock'> {
  readonly settings: Pick<ConfigDeps, 'configName' | 'namespace' | 'signInNamespace'>
  readonly stores: Pick<ConfigDeps, 'configs' | 'secrets' | 'configMaps' | 'signInStatus'> & {
    readonly signingSecrets: Store<FullObject<Secret>>
    readonly secretSettings: Store<FullObject<Secret>>
    readonly deliverySettings: Store<FullObject<Secret>>
    readonly signInSettings: Store<FullObject<Secret>>
  }
  readonly issuer: FollowedIssuer
  readonly keyring: Keyring
  readonly metrics: ConfigMetrics
}

/** The ConfigMaps of the platform namespace that a Config's plan reads. */
const READ_CONFIG_MAPS = [IN_FORCE_CONFIG_MAP, SECRET_STORE_STATUS_CONFIG_MAP]

/** The controller of Configs. One Config is in force; the others get a status that says so. */
export const configController = {
  name: 'config',
  workers: () => 1,
  writes: {
    [CONFIGS.kind]: CONFIG_WRITE_REASONS,
    [CONFIG_MAPS.kind]: RECORD_WRITE_REASONS,
    [SECRETS.kind]: SECRET_SETTINGS_WRITE_REASONS,
  },
  watches: {
    configs: {
      resource: CONFIGS,
      createStore: () => new Store(fullObject<Config>),
      query: everyObject,
    },
    // The Secret with settings, which has the name of the Config, if it exists.
    secrets: {
      resource: SECRETS,
      createStore: () => new Store(fullObject<Secret>),
      query: ({ namespace, configName }: WatchSettings) => oneObject(namespace, configName),
    },
    secretSettings: {
      resource: SECRETS,
      createStore: () => new Store(fullObject<Secret>),
      query: ({ namespace }: WatchSettings) => oneObject(namespace, GATEWAY_SETTINGS_SECRET),
    },
    deliverySettings: {
      resource: SECRETS,
      createStore: () => new Store(fullObject<Secret>),
      query: ({ namespace }: WatchSettings) => oneObject(namespace, DELIVERY_SETTINGS_SECRET),
    },
    signInSettings: {
      resource: SECRETS,
      createStore: () => new Store(fullObject<Secret>),
      query: ({ signInNamespace }: WatchSettings) =>
        oneObject(signInNamespace, SIGN_IN_SETTINGS_SECRET),
      optionalName: SIGN_IN_SETTINGS_SECRET,
    },
    signInStatus: {
      resource: CONFIG_MAPS,
      createStore: () => new Store(fullObject<ConfigMap>),
      query: ({ signInNamespace }: WatchSettings) =>
        oneObject(signInNamespace, SIGN_IN_STATUS_CONFIG_MAP),
      optionalName: SIGN_IN_STATUS_CONFIG_MAP,
    },
  },
  metrics: ({ make }: { readonly make: Instruments<MetricName> }) => configMetrics(make),
  setUp: (setup: ConfigSetup): ControllerSpec => {
    const { settings, stores } = setup
    const deps = depsOf(setup)
    const inForce = () => [settings.configName]
    const { configs, secrets, secretSettings, deliverySettings, signInSettings } = stores
    const { signInStatus, signingSecrets, configMaps } = stores
    return {
      name: configController.name,
      workers: 1,
      reconcile: (key, context) => reconcile(key, deps, context),
      objectOf: (key) => configs.getByKey(key),
      reads: [configs, secrets, secretSettings, deliverySettings, configMaps, signingSecrets],
      watches: [
        onChange(configs),
        onChange(secrets, inForce),
        onChange(secretSettings, inForce),
        onChange(deliverySettings, inForce),
        onChange(signingSecrets, inForce),
        onChange(configMaps, ({ name }) => (READ_CONFIG_MAPS.includes(name) ? inForce() : [])),
        onChange(signInSettings, inForce),
        onChange(signInStatus, inForce),
        onSignal(setup.issuer, inForce),
        // Only now is it known that the Secret does not exist.
        (enqueue) => signInSettings.whenSynced(() => enqueue(settings.configName, 'change')),
        // The Config in force is enqueued even if it does not exist: the reconcile creates it.
        (enqueue) => {
          for (const { name } of configs.values()) enqueue(name, 'change')
          enqueue(settings.configName, 'change')
        },
      ],
    }
  },
}

function depsOf({ settings, stores, keyring, metrics, ...setup }: ConfigSetup): ConfigDeps {
  const { configName, namespace, signInNamespace } = settings
  const { client, issuer, events, clock } = setup
  const { configs, secrets, configMaps, signInStatus } = stores
  return {
    client,
    configs,
    secrets,
    settingsSecrets: settingsSecrets({ namespace, signInNamespace }, stores),
    configMaps,
    signInStatus,
    issuer,
    events,
    clock,
    configName,
    namespace,
    signInNamespace,
    environment: (name) => process.env[name],
    platformVersion: PROGRAM_VERSION,
    shapeCheck: checkSettingsSchema,
    signingKeyFaults: () => keyring.faults(),
    storeToken: { known: null },
    lastReport: { atMs: null },
    observer: { checked: metrics.configChecked, applied: metrics.configApplied },
  }
}
