// The settings of the secret store, followed (contract 36.1).
import { DELIVERY_SETTINGS_SECRET } from '../../api/secret-store-names.ts'
import { type Secret, secretText } from '../../api/objects.ts'
import { deliverySettingsIn } from '../../domain/settings/secret-settings.ts'
import { type StoreSettings, storeSettingsOf } from '../../domain/store/store-settings.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { followAuthorityFile } from '../authority-file.ts'

/** Options of followStoreSettings. */
interface StoreSettingsSources {
  /** Has Secret platform-settings-delivery, once the manager has written it. */
  readonly secrets: Store<FullObject<Secret>>
  readonly namespace: string
  /** VAULT_ADDR; empty = not set. */
  readonly environmentAddress: string
  /** Path of the PEM file, `--secret-store-ca-file`; null = the roots of the system. */
  readonly caFile: string | null
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** The settings that are followed. */
export interface FollowedStoreSettings {
  /** null = the store is switched off. */
  readonly current: () => StoreSettings | null
  /** resourceVersion of the Secret that has them; empty = none was read. */
  readonly version: () => string
  /**
   * PEM of the authority of the store's certificate, empty while its file is missing: nothing is trusted then; null = the roots of
   * the system.
   */
  readonly ca: () => string | null
  /** Calls back whenever they have changed. */
  readonly subscribe: (listener: () => void) => void
}

/** Follows the Secret and the file. Settings and a file that can't be read stay as they were. */
export function followStoreSettings(options: StoreSettingsSources): FollowedStoreSettings {
  const { secrets, namespace, environmentAddress, log } = options
  const listeners: (() => void)[] = []
  let shown = '{}'
  let version = ''
  let current: StoreSettings | null = null
  const changed = (): void => {
    for (const listener of listeners) listener()
  }
  const read = (): void => {
    // Without the Secret nothing is switched on, or it was deleted: the manager writes it again.
    const secret = secrets.get(DELIVERY_SETTINGS_SECRET, namespace)?.object
    const text = secretText(secret, 'config')
    if (secret === undefined || text === null) return
    if (text === shown) {
      version = secret.metadata.resourceVersion
      return
    }
    const settings = deliverySettingsIn(text)
    if (settings === null) {
      log.error(
        { secret: DELIVERY_SETTINGS_SECRET },
        'settings of the secret store cannot be read, the previous ones stay',
      )
      return
    }
    shown = text
    version = secret.metadata.resourceVersion
    current = storeSettingsOf(settings, environmentAddress)
    changed()
  }
  secrets.subscribe(({ name }) => name === DELIVERY_SETTINGS_SECRET && read())
  secrets.whenSynced(read)
  const ca = followCa(options, changed)
  return {
    current: () => current,
    version: () => version,
    ca,
    subscribe: (listener) => void listeners.push(listener),
  }
}

function followCa(
  { caFile, clock, log, signal }: StoreSettingsSources,
  changed: () => void,
): () => string | null {
  if (caFile === null) return () => null
  let ca = ''
  const found = (pem: string): void => {
    ca = pem
    changed()
  }
  const fault = followAuthorityFile({ path: caFile, clock, signal, found })
  if (fault !== null) log.error({ fault }, 'the authority of the secret store is missing')
  return () => ca
}
