import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  CONFIGS,
  CONTROLLER_NAME,
  EVENTS,
  LEASES,
  SECRETS,
  TOKENS,
} from '../../api/group.ts'
import { CONFIG_WRITE_REASONS, RECORD_WRITE_REASONS } from '../../controllers/config/reconcile.ts'
import { TOKEN_STATE_LABELS } from '../../controllers/directclusterendpointtoken/counts.ts'
import { TOKEN_WRITE_REASONS } from '../../controllers/directclusterendpointtoken/reconcile.ts'
import { KEY_STATE_LABELS } from '../../controllers/ownedaccesskey/counts.ts'
import { KEY_WRITE_REASONS } from '../../controllers/ownedaccesskey/reconcile.ts'
import {
  JWKS_WRITE_REASONS,
  SIGNING_SECRET_WRITE_REASONS,
} from '../../controllers/signingkey/reconcile.ts'
import { REVOCATION_WRITE_REASONS } from '../../credentials/revoked-tokens.ts'
import { EVENT_REASONS } from '../../kube/events.ts'
import { LEASE_REASONS } from '../../kube/lease-lock.ts'
import { RESTART_REASONS } from '../../kube/watch-state.ts'
import { createMetrics, type Metrics } from '../../runtime/metrics.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'
import { CONTROLLERS } from './controllers.ts'
import { WATCHED } from './stores.ts'

/** The manager's metrics, with their closed label sets. */
export function createManagerMetrics({ workers, perObjectMetrics }: ManagerSettings): Metrics {
  return createMetrics({
    controllers: {
      [CONTROLLERS.keys]: workers,
      [CONTROLLERS.tokens]: workers,
      [CONTROLLERS.configs]: 1,
      [CONTROLLERS.signingKeys]: 1,
    },
    lease: CONTROLLER_NAME,
    writes: {
      [ACCESS_KEYS.kind]: KEY_WRITE_REASONS,
      [CONFIGS.kind]: CONFIG_WRITE_REASONS,
      [TOKENS.kind]: TOKEN_WRITE_REASONS,
      [CONFIG_MAPS.kind]: [
        ...RECORD_WRITE_REASONS,
        ...REVOCATION_WRITE_REASONS,
        ...JWKS_WRITE_REASONS,
      ],
      [SECRETS.kind]: SIGNING_SECRET_WRITE_REASONS,
      [EVENTS.kind]: EVENT_REASONS,
      [LEASES.kind]: LEASE_REASONS,
    },
    tokenStates: TOKEN_STATE_LABELS,
    watches: WATCHED.map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    keyStates: Object.values(KEY_STATE_LABELS),
    perObject: perObjectMetrics,
    endingKinds: [ACCESS_KEYS.kind, TOKENS.kind],
  })
}
