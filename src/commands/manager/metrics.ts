import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  CONFIGS,
  CONTROLLER_NAME,
  EVENTS,
  LEASES,
} from '../../api/group.ts'
import { CONFIG_WRITE_REASONS, RECORD_WRITE_REASONS } from '../../controllers/config/reconcile.ts'
import { KEY_STATE_LABELS } from '../../controllers/ownedaccesskey/counts.ts'
import { KEY_WRITE_REASONS } from '../../controllers/ownedaccesskey/reconcile.ts'
import { EVENT_REASONS } from '../../kube/events.ts'
import { LEASE_REASONS } from '../../kube/lease-lock.ts'
import type { ClientObserver } from '../../kube/transport.ts'
import { RESTART_REASONS } from '../../kube/watch-state.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { createMetrics, type Metrics } from '../../runtime/metrics.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'
import { CONTROLLERS } from './controllers.ts'
import { WATCHED } from './stores.ts'

/** The manager's metrics, with their closed label sets. */
export function createManagerMetrics({ workers, perObjectMetrics }: ManagerSettings): Metrics {
  return createMetrics({
    controllers: { [CONTROLLERS.keys]: workers, [CONTROLLERS.configs]: 1 },
    lease: CONTROLLER_NAME,
    writes: {
      [ACCESS_KEYS.kind]: KEY_WRITE_REASONS,
      [CONFIGS.kind]: CONFIG_WRITE_REASONS,
      [CONFIG_MAPS.kind]: RECORD_WRITE_REASONS,
      [EVENTS.kind]: EVENT_REASONS,
      [LEASES.kind]: LEASE_REASONS,
    },
    watches: WATCHED.map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    keyStates: Object.values(KEY_STATE_LABELS),
    perObject: perObjectMetrics,
    cappedKinds: [ACCESS_KEYS.kind],
  })
}

/** The Date header has whole seconds: half of one is its mean error. */
const DATE_ERROR_MS = 500
const TOLERATED_SKEW_MS = 2000

/** Passes on what the client tells, and warns when our clock and the API server's part (2.9). */
export function observeClient(metrics: Metrics, clock: Clock, log: Log): ClientObserver {
  let isSkewed = false
  const compare = (dateMs: number): void => {
    const skewMs = clock.nowMs() - (dateMs + DATE_ERROR_MS)
    metrics.clockSkewed(skewMs / 1000)
    const wasSkewed = isSkewed
    isSkewed = Math.abs(skewMs) > TOLERATED_SKEW_MS
    if (isSkewed && !wasSkewed)
      log.warn({ skewMs }, "local clock and the API server's differ, keys may end early or late")
  }
  return {
    responded: (method, code, dateMs) => {
      metrics.responded(method, code)
      if (dateMs !== null) compare(dateMs)
    },
    wrote: (kind, reason) => metrics.wrote(kind, reason),
  }
}
