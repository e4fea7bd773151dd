import { type ConfigSetup, configController } from '../../controllers/config/setup.ts'
import {
  type TokenSetup,
  tokenController,
} from '../../controllers/directclusterendpointtoken/setup.ts'
import { type KeySetup, keyController } from '../../controllers/ownedaccesskey/setup.ts'
import { type SigningKeySetup, signingKeyController } from '../../controllers/signingkey/setup.ts'
import { type TeamSetup, teamController } from '../../controllers/team/setup.ts'
import { type UserSetup, userController } from '../../controllers/user/setup.ts'
import { type ControllerRuntime, runController } from '../../kube/controller/builder.ts'
import type { StopController } from '../../kube/controller/controller.ts'
import type { RevocationList } from '../../revocation/revocation-list.ts'
import { runOnSchedule } from '../../runtime/schedule.ts'

/** The controllers of the manager, in the order of their start. */
export const CONTROLLERS = [
  configController,
  signingKeyController,
  tokenController,
  keyController,
  userController,
  teamController,
] as const

/** All dependencies of the controllers. */
type ControllersOptions = ConfigSetup &
  SigningKeySetup &
  TokenSetup &
  KeySetup &
  UserSetup &
  TeamSetup &
  ControllerRuntime & { readonly revocations: RevocationList }

/** Schedule of the sweep of expired revocation records. */
const SWEEP_SCHEDULE = '*/5 * * * *'

/** How long a shutdown waits until pending revocation records are stored. */
const STORE_RECORDS_WITHIN_MS = 10_000

/** Starts all controllers; each begins once the stores that it reads are synced. */
export function startControllers(options: ControllersOptions): StopController {
  const { log, revocations, stores } = options
  const stops = CONTROLLERS.map(({ setUp }) => runController(setUp(options), options))
  const stopSweep = runOnSchedule(SWEEP_SCHEDULE, log, () => void revocations.sweep())
  stores.configMaps.whenSynced(() => void revocations.sweep())
  return async () => {
    stopSweep()
    await Promise.all(stops.map((stop) => stop()))
    await revocations.stop(AbortSignal.timeout(STORE_RECORDS_WITHIN_MS))
  }
}
