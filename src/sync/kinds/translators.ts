// The kinds that are synced, and how each is translated (contract 16.2, 18).
import type { SyncedKind } from '../objects/synced-kinds.ts'
import { endpointsTranslator } from './endpoints.ts'
import { configMapsTranslator, secretsTranslator } from './secrets.ts'
import { servicesTranslator } from './services.ts'
import type { KindTranslator } from './translator.ts'

/** The translator of each kind, by its key below `sync.toHost`. */
export const TRANSLATORS: Readonly<Record<SyncedKind, KindTranslator>> = {
  endpoints: endpointsTranslator,
  services: servicesTranslator,
  secrets: secretsTranslator,
  configMaps: configMapsTranslator,
}
