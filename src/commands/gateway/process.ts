import { CONFIG_MAPS, CONFIGS, SECRETS } from '../../api/group.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../gateway/tls/keep.ts'
import { RESTART_REASONS } from '../../kube/watch-state.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createGatewayMetrics, type GatewayMetrics } from '../../runtime/gateway-metrics.ts'
import type { GatewaySettings } from '../../runtime/gateway-settings.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'

/** What every part of a gateway process has at hand. */
export interface GatewayProcess {
  readonly settings: GatewaySettings
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: GatewayMetrics
}

/** The gateway's metrics, with their closed label sets. */
export const createMetrics = (): GatewayMetrics =>
  createGatewayMetrics({
    writes: { [SECRETS.kind]: CERTIFICATE_WRITE_REASONS },
    watches: [CONFIGS, CONFIG_MAPS].map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
  })
