import type { MetricName } from '../../api/metrics.ts'
import { CONFIG_MAPS, JWKS_CONFIG_MAP, SECRETS, SIGNING_KEY_TYPE } from '../../api/names.ts'
import type { ConfigMap, Secret } from '../../api/objects.ts'
import type { SigningAlgorithm } from '../../domain/token/token-claims.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import { type ControllerSpec, onChange, onSignal } from '../../kube/controller/builder.ts'
import type { WatchSettings } from '../../kube/controller/definition.ts'
import { type FullObject, Store, fullObject } from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import type { Instruments, Registry } from '../../runtime/metrics.ts'
import { runOnSchedule } from '../../runtime/schedule.ts'
import { platformConfigMap } from '../../settings/follow.ts'
import { lastExpMs } from '../directclusterendpointtoken/metrics.ts'
import { type SigningKeySources, signingKeyMetrics } from './metrics.ts'
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

/** Where the metrics of signing keys are registered, and what they are read from. */
interface SigningKeyGauges {
  readonly make: Instruments<MetricName>
  readonly registry: Registry
  readonly sources: () => SigningKeySources
}

/** The controller of signing keys: their Secrets and ConfigMap `platform-jwks`. */
export const signingKeyController = {
  name: 'signingkey',
  workers: () => 1,
  writes: { [CONFIG_MAPS.kind]: JWKS_WRITE_REASONS, [SECRETS.kind]: SIGNING_SECRET_WRITE_REASONS },
  watches: {
    signingSecrets: {
      resource: SECRETS,
      createStore: () => new Store(fullObject<Secret>),
      query: ({ namespace }: WatchSettings) => ({
        namespace,
        fieldSelector: `type=${SIGNING_KEY_TYPE}`,
      }),
    },
    // Without the data of ConfigMaps that are not the platform's.
    configMaps: {
      resource: CONFIG_MAPS,
      createStore: () => new Store(platformConfigMap),
      query: ({ namespace }: WatchSettings) => ({ namespace }),
    },
  },
  metrics: ({ make, registry, sources }: SigningKeyGauges): object => {
    signingKeyMetrics(make, registry, sources)
    return {}
  },
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
