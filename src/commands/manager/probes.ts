// The manager's servers of metrics and probes, and the checks of /readyz.
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { commonChecks, serveProbes } from '../shared/process.ts'
import type { ManagerSettings } from './flags.ts'
import type { ManagerInformers, Stores } from './informers.ts'
import type { ManagerMetrics } from './metrics.ts'

/** Dependencies of serveManager. */
interface ServeOptions {
  readonly settings: ManagerSettings
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: ManagerMetrics
  readonly stores: Stores
  readonly following: ManagerInformers
  readonly keyring: Keyring
}

/**
 * Serves /metrics, /healthz and /readyz at the addresses of the flags (contract 8.2).
 *
 * @throws Error when an address can't be bound
 */
export function serveManager(options: ServeOptions): Promise<void> {
  const { settings, stores, following, lifecycle, keyring } = options
  const readiness = {
    ...commonChecks(lifecycle.stopping, following, { ...stores }),
    'settings-seen': () =>
      following.caps.current() ? null : 'no settings in force have been seen',
    'signing-key-loaded': () =>
      keyring.current() ? null : 'no signing key that is published and sound',
  }
  return serveProbes({ ...options, ...settings, readiness })
}
