import { ACCESS_KEYS, CONFIG_MAPS, CONFIGS, SECRETS, TOKENS } from '../../api/group.ts'
import { HEARTBEAT_REASON } from '../../credentials/heartbeat.ts'
import { ACTIVITY_WRITE_REASONS } from '../../gateway/activity/record.ts'
import { AUTHENTICATION_REFUSALS } from '../../gateway/stages/authenticate.ts'
import { ADMISSION_KINDS } from '../../gateway/stages/limits.ts'
import { CUT_REASONS, STREAM_KINDS } from '../../gateway/streams/registry.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../gateway/tls/keep.ts'
import { RESTART_REASONS } from '../../kube/watch-state.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createGatewayMetrics, type GatewayMetrics } from '../../runtime/gateway-metrics.ts'
import type { GatewaySettings } from '../../runtime/gateway-settings.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'

/** Shared by all parts of a gateway process. */
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
    writes: {
      [SECRETS.kind]: CERTIFICATE_WRITE_REASONS,
      [ACCESS_KEYS.kind]: [HEARTBEAT_REASON, ...ACTIVITY_WRITE_REASONS],
    },
    watches: [ACCESS_KEYS, TOKENS, CONFIGS, CONFIG_MAPS].map(({ plural }) => plural),
    watchRestartReasons: RESTART_REASONS,
    targets: ['Management'],
    refusals: AUTHENTICATION_REFUSALS,
    limits: [...ADMISSION_KINDS, 'buffer'],
    streamKinds: STREAM_KINDS,
    cutReasons: CUT_REASONS,
  })
