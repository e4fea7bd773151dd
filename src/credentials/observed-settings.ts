import type { Config } from '../api/config.gen.ts'
import { IN_FORCE_CONFIG_MAP } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { type ObservedSettings, observedSettings } from '../domain/settings/observed.ts'
import type { Store, Whole } from '../kube/informer/store.ts'

/** Where the settings in force are read from. */
export interface SettingsSources {
  readonly configs: Store<Whole<Config>>
  /** Holds ConfigMap `platform-config-in-force`, and may hold others of the platform's namespace. */
  readonly configMaps: Store<Whole<ConfigMap>>
  readonly configName: string
}

/**
 * Calls back with the settings in force, secrets hidden, once both stores are listed and whenever the
 * objects that hold them change (contract 6.5, 8.2).
 */
export function followSettings(
  { configs, configMaps, configName }: SettingsSources,
  listener: (observed: ObservedSettings) => void,
): void {
  const read = (): void => {
    if (!configs.synced || !configMaps.synced) return
    const config = configs.get(configName)
    const record = configMaps.get(IN_FORCE_CONFIG_MAP)
    const status = config ? { uid: config.uid, status: config.object.status } : null
    listener(observedSettings(status, record ? (record.object.data ?? {}) : null))
  }
  configs.subscribe(({ name }) => name === configName && read())
  configMaps.subscribe(({ name }) => name === IN_FORCE_CONFIG_MAP && read())
  for (const store of [configs, configMaps]) store.whenSynced(read)
}
