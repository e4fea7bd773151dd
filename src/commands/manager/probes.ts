// The manager's servers of metrics and probes, and the checks of /readyz.
import type { Keyring } from '../../signing/keyring.ts'
import type { CommandProcess } from '../shared/process.ts'
import { commonChecks, serveProbes } from '../shared/probes.ts'
import type { ManagerSettings } from './flags.ts'
import { type ManagerInformers, NEEDED_STORES, type Stores } from './informers.ts'
import type { ManagerMetrics } from './metrics.ts'

/** The parts of the manager that must be ready. */
interface CheckedParts {
  readonly stores: Stores
  readonly following: ManagerInformers
  readonly keyring: Keyring
}

/**
 * Serves /metrics, /healthz and /readyz at the addresses of the flags (contract 8.2).
 *
 * @throws Error when an address can't be bound
 */
export function serveManager(
  self: CommandProcess<ManagerSettings, ManagerMetrics>,
  { stores, following, keyring }: CheckedParts,
): Promise<void> {
  const needed = Object.fromEntries(NEEDED_STORES.map((name) => [name, stores[name]]))
  return serveProbes(self, {
    ...commonChecks(self.lifecycle.stopping, following, needed),
    'settings-seen': () =>
      following.caps.current() ? null : 'no settings in force have been seen',
    'signing-key-loaded': () =>
      keyring.current() ? null : 'no signing key that is published and sound',
  })
}
