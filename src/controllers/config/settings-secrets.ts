// The Secrets by which other processes get the settings that they need (contract 6.8).
import type { ConfigSettings } from '../../api/config.gen.ts'
import { GATEWAY_SETTINGS_SECRET, SIGN_IN_SETTINGS_SECRET } from '../../api/names.ts'
import { DELIVERY_SETTINGS_SECRET } from '../../api/secret-store-names.ts'
import { type Secret, secretText } from '../../api/objects.ts'
import {
  deliverySecretSettings,
  gatewaySecretSettings,
  signInSecretSettings,
} from '../../domain/settings/secret-settings.ts'
import { type KnownStoreToken, tokenReadingFor } from '../../domain/store/store-token.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'

/** One of these Secrets. */
export interface SettingsSecret {
  readonly name: string
  readonly namespace: string
  /** The process that reads it, for messages. */
  readonly reader: string
  /**
   * Whether its namespace may be missing. It is then written after status, and a failure concerns its reader alone; every
   * other is written before status, which waits for it.
   */
  readonly isOptional: boolean
  /**
   * Its text for these settings, for data key `config`; equal settings give equal text. null = what they need from
   * elsewhere is not known, so the Secret stays as it is.
   *
   * @param storeToken what is known of the token of the secret store; null = nothing
   */
  readonly textOf: (settings: ConfigSettings, storeToken: KnownStoreToken | null) => string | null
}

/** One of them, as it is in the cluster. */
export interface StoredSettingsSecret extends SettingsSecret {
  /** Its text; null = it does not exist. */
  readonly stored: string | null
  /** Its resourceVersion; empty = it does not exist. */
  readonly storedVersion: string
}

/** One of them, with the store that has it. An optional one is unknown until the store has synced. */
export interface WatchedSettingsSecret extends SettingsSecret {
  readonly store: Store<FullObject<Secret>>
}

/** The namespaces of the processes. */
interface Namespaces {
  readonly namespace: string
  readonly signInNamespace: string
}

/** All of them, in the order in which they are written. */
export const settingsSecrets = (
  { namespace, signInNamespace }: Namespaces,
  stores: {
    readonly secretSettings: WatchedSettingsSecret['store']
    readonly deliverySettings: WatchedSettingsSecret['store']
    readonly signInSettings: WatchedSettingsSecret['store']
  },
): readonly WatchedSettingsSecret[] => [
  {
    name: GATEWAY_SETTINGS_SECRET,
    namespace,
    reader: 'gateway',
    isOptional: false,
    textOf: gatewaySecretSettings,
    store: stores.secretSettings,
  },
  {
    name: DELIVERY_SETTINGS_SECRET,
    namespace,
    reader: 'delivery process',
    isOptional: false,
    textOf: deliveryText,
    store: stores.deliverySettings,
  },
  {
    name: SIGN_IN_SETTINGS_SECRET,
    namespace: signInNamespace,
    reader: 'sign-in process',
    isOptional: true,
    textOf: signInSecretSettings,
    store: stores.signInSettings,
  },
]

function deliveryText(settings: ConfigSettings, storeToken: KnownStoreToken | null): string | null {
  const reading = tokenReadingFor(settings, storeToken)
  return reading && deliverySecretSettings(settings, reading.token)
}

/** Those that are known, with their texts. */
export const storedSecrets = (
  watched: readonly WatchedSettingsSecret[],
): readonly StoredSettingsSecret[] =>
  watched.flatMap(({ store, ...secret }) => {
    if (secret.isOptional && !store.synced) return []
    const found = store.get(secret.name, secret.namespace)?.object
    const stored = found ? (secretText(found, 'config') ?? '') : null
    return [{ ...secret, stored, storedVersion: found?.metadata.resourceVersion ?? '' }]
  })
