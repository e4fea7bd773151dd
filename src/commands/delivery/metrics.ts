// The metrics of the delivery process (contract 28.7).
import { METRIC_HELP } from '../../api/metrics.ts'
import {
  ACCESS_KEY_CLAIMS,
  ACCESS_KEYS,
  CONFIG_MAPS,
  CONFIGS,
  DELIVERY_LEASE,
  EVENTS,
  LEASES,
  SECRETS,
  TOKENS,
} from '../../api/names.ts'
import { type ClaimMetrics, claimMetrics } from '../../delivery/claims/metrics.ts'
import { KEY_WRITE_REASONS, TOKEN_WRITE_REASONS } from '../../delivery/claims/new-credential.ts'
import { CLAIM_WRITE_REASONS } from '../../delivery/claims/reconcile.ts'
import { CLAIM_CONTROLLER } from '../../delivery/claims/setup.ts'
import { SECRET_WRITE_REASONS } from '../../delivery/secrets/secret-writes.ts'
import { type StoreMetrics, storeMetrics } from '../../delivery/store/metrics.ts'
import { STORE_REPORT_REASONS } from '../../delivery/store/report.ts'
import { SYNC_WRITE_REASONS } from '../../delivery/store/sync.ts'
import { type ControllerMetrics, controllerMetrics } from '../../kube/controller/metrics.ts'
import { EVENT_WRITE_REASONS } from '../../kube/event-recorder.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import { LEASE_WRITE_REASONS } from '../../kube/leader-election/elector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { instruments, processRegistry, type Scrape } from '../../runtime/metrics.ts'
import { type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import { leaderMetrics } from '../shared/leadership.ts'
import type { CommandProcess } from '../shared/process.ts'
import type { DeliverySettings } from './flags.ts'

/** The metrics of the delivery process, with a method for each event that they count. */
interface DeliveryMetrics extends ClientMetrics, ClaimMetrics, StoreMetrics {
  /** The metrics of the controller of this name. */
  readonly controller: (name: string) => ControllerMetrics
  readonly leads: (isLeader: boolean) => void
  readonly scrape: Scrape
}

/** Shared by all parts of the process. */
export type DeliveryProcess = CommandProcess<DeliverySettings, DeliveryMetrics>

/** Creates the metrics, all at zero, in a registry of their own. */
export function createDeliveryMetrics(
  { workers }: DeliverySettings,
  clock: Clock,
): DeliveryMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  return {
    controller: controllerMetrics(make, { [CLAIM_CONTROLLER]: workers }),
    ...clientMetrics(make, {
      writes: {
        [ACCESS_KEY_CLAIMS.kind]: CLAIM_WRITE_REASONS,
        [ACCESS_KEYS.kind]: KEY_WRITE_REASONS,
        [TOKENS.kind]: TOKEN_WRITE_REASONS,
        [SECRETS.kind]: [...SECRET_WRITE_REASONS, ...SYNC_WRITE_REASONS],
        [CONFIG_MAPS.kind]: STORE_REPORT_REASONS,
        [EVENTS.kind]: EVENT_WRITE_REASONS,
        [LEASES.kind]: LEASE_WRITE_REASONS,
      },
      watches: [ACCESS_KEY_CLAIMS, ACCESS_KEYS, TOKENS, CONFIGS, CONFIG_MAPS, SECRETS].map(
        ({ plural }) => plural,
      ),
      watchRestartReasons: RESTART_REASONS,
    }),
    ...leaderMetrics(make, DELIVERY_LEASE),
    ...claimMetrics(make),
    ...storeMetrics(make, () => clock.nowMs()),
    scrape,
  }
}
