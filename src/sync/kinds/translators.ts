// The rules of each synced kind; objects/synced-kinds.ts has its row (contract 16.2, 18).
import type { SyncedKind } from '../objects/synced-kinds.ts'
import { endpointsScope, endpointsTranslator } from './endpoints.ts'
import { type KindScope, REFERENCED_SCOPE } from './scope.ts'
import { configMapsScope, configMapsTranslator, secretsTranslator } from './secrets.ts'
import { servicesScope, servicesTranslator } from './services.ts'
import type { KindTranslator } from './translator.ts'

/** How the objects of each kind are translated. */
export const TRANSLATORS: Readonly<Record<SyncedKind, KindTranslator>> = {
  endpoints: endpointsTranslator,
  services: servicesTranslator,
  secrets: secretsTranslator,
  configMaps: configMapsTranslator,
}

/** Which objects of each kind are synced. */
export const SCOPES: Readonly<Record<SyncedKind, KindScope>> = {
  endpoints: endpointsScope,
  services: servicesScope,
  secrets: REFERENCED_SCOPE,
  configMaps: configMapsScope,
}
