import { CONFIG_MAPS, JWKS_CONFIG_MAP, SECRETS } from '../../api/names.ts'
import type { ConfigMap, Secret } from '../../api/objects.ts'
import type { SigningAlgorithm } from '../../domain/token/token-claims.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import { type ControllerSpec, onChange, onSignal } from '../../kube/controller/builder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import { runOnSchedule } from '../../runtime/schedule.ts'
import { lastExpMs } from '../directclusterendpointtoken/metrics.ts'
import { SIGNING_SECRET_WRITE_REASONS, type SigningKeyDeps, createReconcile } from './reconcile.ts'
import { JWKS_WRITE_REASONS } from './publish-keys.ts'

/** The only key in the work queue: all signing keys are reconciled together. */
const SIGNING_KEYS = 'signing-keys'

/**
 * Resync of the signing keys. Wake-ups at known times are in the work queue already; the resync notices tokens that
 * ended early, a clock that was set, and lost wake-ups.
 */
const SCHEDULE = '*/10 * * * *'

/** What the controller of signing keys needs from the process. */
export interface SigningKeySetup
  extends Pick<SigningKeyDeps, 'client' | 'keyring' | 'events' | 'clock'> {
  readonly log: Log
  readonly settings: Pick<SigningKeyDeps, 'namespace' | 'tokenMaxTtlMs'> & {
    readonly signingAlgorithm: SigningAlgorithm
  }
  readonly stores: {
    readonly tokens: Store<TokenObject>
    readonly configMaps: Store<FullObject<ConfigMap>>
    readonly signingSecrets: Store<FullObject<Secret>>
  }
}

/** The controller of signing keys: their Secrets and ConfigMap `platform-jwks`. */
export const signingKeyController = {
  name: 'signingkey',
  workers: () => 1,
  writes: { [CONFIG_MAPS.kind]: JWKS_WRITE_REASONS, [SECRETS.kind]: SIGNING_SECRET_WRITE_REASONS },
  setUp: (setup: SigningKeySetup): ControllerSpec => {
    const { client, settings, stores, keyring, events, clock, log } = setup
    const { tokens, signingSecrets, configMaps } = stores
    const reconcile = createReconcile({
      client,
      keyring,
      records: configMaps,
      namespace: settings.namespace,
      algorithm: settings.signingAlgorithm,
      tokenMaxTtlMs: settings.tokenMaxTtlMs,
      lastExpMs: (kid) => lastExpMs(tokens, kid),
      events,
      clock,
    })
    const all = () => [SIGNING_KEYS]
    return {
      name: signingKeyController.name,
      workers: 1,
      reconcile: (_, context) => reconcile(context),
      objectOf: () => undefined,
      reads: [tokens, signingSecrets, configMaps],
      watches: [
        onChange(signingSecrets, all),
        onChange(configMaps, ({ name }) => (name === JWKS_CONFIG_MAP ? all() : [])),
        onSignal(keyring, all),
        (enqueue) => {
          const add = (): void => enqueue(SIGNING_KEYS, 'change')
          add()
          return runOnSchedule(SCHEDULE, log, add)
        },
      ],
    }
  },
}
