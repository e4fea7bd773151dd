import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { IN_FORCE_CONFIG_MAP, JWKS_CONFIG_MAP } from '../../api/names.ts'
import { createLiveKeyReader } from '../../authn/live-reader.ts'
import * as config from '../../controllers/config/reconcile.ts'
import {
  BY_UID,
  namesUnder,
  tokenEndMs,
} from '../../controllers/directclusterendpointtoken/indexes.ts'
import { lastExpMs } from '../../controllers/directclusterendpointtoken/metrics.ts'
import * as token from '../../controllers/directclusterendpointtoken/reconcile.ts'
import { endMsOf, keysIn } from '../../controllers/ownedaccesskey/indexes.ts'
import * as accessKey from '../../controllers/ownedaccesskey/reconcile.ts'
import * as signingKey from '../../controllers/signingkey/reconcile.ts'
import { formatAccessKey } from '../../domain/accesskey/access-key-format.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { keysAffectedBy } from '../../domain/accesskey/owner-chain.ts'
import { checkSettingsSchema } from '../../domain/settings/schema.ts'
import type { StopController } from '../../kube/controller/controller.ts'
import { forEachYieldingByTime } from '../../runtime/concurrency/event-loop.ts'
import { runOnSchedule } from '../../runtime/schedule.ts'
import { countObjects } from './counts.ts'
import { type ControllersOptions, knownCaps, startLoop, whenAllSynced } from './loop.ts'

/** Names of the controllers, in metrics and logs. */
export const CONTROLLERS = {
  keys: 'ownedaccesskey',
  tokens: 'directclusterendpointtoken',
  configs: 'config',
  signingKeys: 'signingkey',
} as const

/** When outdated records of revoked tokens are dropped. */
const SWEEP_SCHEDULE = '*/5 * * * *'

/** Maximum age of a key's state that ends tokens: one read serves many tokens of a key. */
const KEYS_NOW_MS = 100

/** Time at shutdown to store pending revocation records. */
const LAST_RECORDS_WITHIN_MS = 10_000

/** Starts all controllers: each begins once the stores it reads have synced. */
export function startControllers(options: ControllersOptions): StopController {
  const { log, revocations } = options
  const starts = [startConfigs, startSigningKeys, startTokens, startKeys]
  const stops = starts.map((start) => start(options))
  options.metrics.follow(countObjects(options))
  const sweep = runOnSchedule(SWEEP_SCHEDULE, log, () => void revocations.sweep())
  options.stores.configMaps.whenSynced(() => void revocations.sweep())
  return async () => {
    sweep()
    await Promise.all(stops.map((stop) => stop()))
    await revocations.stop(AbortSignal.timeout(LAST_RECORDS_WITHIN_MS))
  }
}

function startConfigs(options: ControllersOptions): StopController {
  const { settings, stores, log, metrics, issuer, keyring } = options
  const { configName, namespace } = settings
  const deps: config.ConfigDeps = {
    ...options,
    ...stores,
    configName,
    namespace,
    environment: (name) => process.env[name],
    shapeCheck: checkSettingsSchema,
    signingKeyFaults: () => keyring.faults(),
    log: log.child({ controller: CONTROLLERS.configs }),
    observer: { checked: metrics.configChecked, applied: metrics.configApplied },
  }
  const loop = startLoop(
    options,
    CONTROLLERS.configs,
    1,
    (name) => config.reconcile(name, deps),
    (name) => stores.configs.get(name),
  )
  const again = (): void => loop.queue.add(configName, 'fresh')
  whenAllSynced([stores.configs, stores.secrets, stores.configMaps, stores.signingSecrets], () => {
    stores.configs.subscribe(({ name }) => loop.queue.add(name, 'fresh'))
    stores.secrets.subscribe(again)
    stores.signingSecrets.subscribe(again)
    stores.configMaps.subscribe(({ name }) => name === IN_FORCE_CONFIG_MAP && again())
    issuer.subscribe(again)
    for (const { name } of stores.configs.values()) loop.queue.add(name, 'fresh')
    again()
  })
  return loop.stop
}

/** Starts the controller of access keys: it begins once keys, tokens and ConfigMaps have synced. */
export function startKeys(options: ControllersOptions): StopController {
  const { settings, stores, caps, clock, turns, log, metrics, revocations } = options
  const { keys, tokens } = stores
  const among = keysIn(keys)
  const deps: accessKey.KeyDeps = {
    ...options,
    keys,
    tokens,
    caps: () => knownCaps(caps),
    configName: settings.configName,
    retentionMs: settings.expiredRetentionMs,
    newKey: () => formatAccessKey(randomBytes(32), crc32),
    log: log.child({ controller: CONTROLLERS.keys }),
    observer: { expired: metrics.keyExpired },
  }
  const loop = startLoop(
    options,
    CONTROLLERS.keys,
    settings.workers,
    (name) => accessKey.reconcile(name, deps),
    (name) => keys.get(name),
  )
  const refresh = ({ name }: AccessKey): void => loop.queue.add(name, 'refresh')
  whenAllSynced([keys, tokens, stores.configMaps], () => {
    keys.subscribe((change) => {
      if (caps.current() === null) return
      const lane = change.listed ? 'refresh' : 'fresh'
      for (const { name } of keysAffectedBy(change, among)) loop.queue.add(name, lane)
    })
    revocations.subscribe(() => {
      for (const { name, isDeleting } of keys.values())
        if (isDeleting) loop.queue.add(name, 'fresh')
    })
    caps.subscribe((inForce) => {
      const nowMs = clock.nowMs()
      const end = (key: AccessKey): number => endMsOf(key, inForce, nowMs)
      void forEachYieldingByTime(turns, keys.values(), end, refresh)
    })
  })
  return loop.stop
}

function startTokens(options: ControllersOptions): StopController {
  const { settings, stores, caps, issuer, keyring, revocations } = options
  const { client, clock, turns, log, metrics } = options
  const { keys, tokens } = stores
  const among = keysIn(keys)
  const deps: token.TokenDeps = {
    ...options,
    keys,
    tokens,
    readKeys: createLiveKeyReader(client, clock, among, KEYS_NOW_MS).around,
    signer: keyring,
    caps: () => knownCaps(caps),
    issuer: () => issuer.current(),
    configName: settings.configName,
    maxTtlMs: settings.tokenMaxTtlMs,
    retentionMs: settings.expiredRetentionMs,
    log: log.child({ controller: CONTROLLERS.tokens }),
    observer: { issued: metrics.tokenIssued, signed: metrics.tokenSigned },
  }
  const loop = startLoop(
    options,
    CONTROLLERS.tokens,
    settings.workers,
    (name) => token.reconcile(name, deps),
    (name) => tokens.get(name),
  )
  const all = (): void => {
    if (caps.current() === null) return
    void forEachYieldingByTime(turns, tokens.values(), tokenEndMs, ({ name }) =>
      loop.queue.add(name, 'refresh'),
    )
  }
  whenAllSynced([keys, tokens, stores.configMaps, stores.signingSecrets], () => {
    const fresh = (name: string): void => {
      if (caps.current() !== null) loop.queue.add(name, 'fresh')
    }
    tokens.subscribe(({ name }) => fresh(name))
    keys.subscribe((change) => {
      for (const name of namesUnder(keysAffectedBy(change, among), tokens)) fresh(name)
    })
    revocations.subscribe((jtis) => {
      for (const { name } of jtis.flatMap((jti) => tokens.by(BY_UID, jti))) fresh(name)
    })
    keyring.subscribe(all)
    issuer.subscribe(all)
    caps.subscribe(all)
  })
  return loop.stop
}

function startSigningKeys(options: ControllersOptions): StopController {
  const { settings, stores, keyring, log } = options
  const { tokens, signingSecrets, configMaps } = stores
  const reconcile = signingKey.createReconcile({
    ...options,
    records: configMaps,
    namespace: settings.namespace,
    algorithm: settings.signingAlgorithm,
    tokenMaxTtlMs: settings.tokenMaxTtlMs,
    lastExpMs: (kid) => lastExpMs(tokens, kid),
    log: log.child({ controller: CONTROLLERS.signingKeys }),
  })
  // Its queue has one key, for all signing keys together, and no object.
  const loop = startLoop(options, CONTROLLERS.signingKeys, 1, reconcile, () => undefined)
  const again = (): void => loop.queue.add(signingKey.SIGNING_KEYS, 'fresh')
  let stopSchedule = (): void => undefined
  whenAllSynced([tokens, signingSecrets, configMaps], () => {
    signingSecrets.subscribe(again)
    configMaps.subscribe(({ name }) => name === JWKS_CONFIG_MAP && again())
    keyring.subscribe(again)
    again()
    stopSchedule = runOnSchedule(signingKey.SIGNING_KEYS_SCHEDULE, log, again)
  })
  return () => {
    stopSchedule()
    return loop.stop()
  }
}
