// The kinds that the syncer syncs, by their keys in the configuration (contract 16.1).
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../../api/names.ts'

/** The kinds that the syncer syncs, by their key below `sync.toHost`. */
export const SYNCED_KINDS = ['endpoints', 'services', 'secrets', 'configMaps'] as const

/** A key below `sync.toHost` of a kind that is synced. */
export type SyncedKind = (typeof SYNCED_KINDS)[number]

/** The resources of the synced kinds. */
export const SYNCED_RESOURCES: Readonly<Record<SyncedKind, Resource>> = {
  endpoints: ENDPOINTS,
  services: SERVICES,
  secrets: SECRETS,
  configMaps: CONFIG_MAPS,
}

/** The synced kind of a kind as in manifests; null = it is not synced. */
export const syncedKindOf = (kind: string): SyncedKind | null =>
  SYNCED_KINDS.find((one) => SYNCED_RESOURCES[one].kind === kind) ?? null
