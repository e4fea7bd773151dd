import { randomBytes } from 'node:crypto'
import { ACCESS_KEYS } from '../../api/group.ts'
import { configSettingsSchema } from '../../api/config.schema.gen.ts'
import * as config from '../../controllers/config/reconcile.ts'
import * as accessKey from '../../controllers/ownedaccesskey/reconcile.ts'
import type { FollowedCaps } from '../../credentials/caps.ts'
import type { AccessKey } from '../../domain/access-key.ts'
import { formatKey } from '../../domain/key.ts'
import { type Caps, lifetimeOf } from '../../domain/lifetime.ts'
import type { KubeClient } from '../../kube/client.ts'
import { type Outcome, type StopController, startController } from '../../kube/controller.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { type Lane, WorkQueue } from '../../kube/queue.ts'
import type { Cached, Store } from '../../kube/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { compileCheck } from '../../runtime/schema.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'
import { countKeys } from './key-counts.ts'
import type { Stores } from './stores.ts'

/** Names of the controllers, in metrics and logs. */
export const CONTROLLERS = { keys: 'ownedaccesskey', configs: 'config' } as const

/** What the controllers work with. */
export interface ControllersOptions {
  readonly settings: ManagerSettings
  readonly client: KubeClient
  readonly stores: Stores
  readonly caps: FollowedCaps
  readonly events: EventRecorder
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Starts both controllers: each works from the moment that what it reads is known. */
export function startControllers(options: ControllersOptions): StopController {
  const stops = [startConfigs(options), startKeys(options)]
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}

function startConfigs(options: ControllersOptions): StopController {
  const { settings, stores, log, metrics } = options
  const { configName, namespace } = settings
  const deps: config.ConfigDeps = {
    ...options,
    ...stores,
    configName,
    namespace,
    environment: (name) => process.env[name],
    shapeCheck: compileCheck(configSettingsSchema),
    log: log.child({ controller: CONTROLLERS.configs }),
    observer: { checked: metrics.configChecked, applied: metrics.configApplied },
  }
  const loop = startLoop(options, CONTROLLERS.configs, 1, (name) => config.reconcile(name, deps))
  whenAllSynced([stores.configs, stores.secrets, stores.records], () => {
    stores.configs.subscribe(({ name }) => loop.queue.add(name, 'fresh'))
    for (const store of [stores.secrets, stores.records]) {
      store.subscribe(() => loop.queue.add(configName, 'fresh'))
    }
    for (const { name } of stores.configs.values()) loop.queue.add(name, 'fresh')
    loop.queue.add(configName, 'fresh')
  })
  return loop.stop
}

function startKeys(options: ControllersOptions): StopController {
  const { settings, stores, caps, clock, log, metrics } = options
  const { keys } = stores
  const deps: accessKey.KeyDeps = {
    ...options,
    keys,
    caps: () => known(caps),
    configName: settings.configName,
    retentionMs: settings.expiredRetentionMs,
    newKey: () => formatKey(randomBytes(32)),
    log: log.child({ controller: CONTROLLERS.keys }),
    observer: { expired: metrics.keyExpired },
  }
  const loop = startLoop(options, CONTROLLERS.keys, settings.workers, (name) =>
    accessKey.reconcile(name, deps),
  )
  const addAll = (inForce: Caps): void => {
    for (const { name } of byEnd(keys.values(), inForce, clock.nowMs()))
      loop.queue.add(name, 'refresh')
  }
  whenAllSynced([keys], () => {
    keys.subscribe(({ name, before, after, listed }) => {
      const lane: Lane = listed ? 'refresh' : 'fresh'
      if (caps.current() === null) return
      loop.queue.add(name, lane)
      if (before?.digest !== after?.digest) {
        for (const digest of [before?.digest, after?.digest])
          addPeers(keys, digest, loop.queue, lane)
      }
    })
    caps.subscribe(addAll)
  })
  followKeys(options)
  return loop.stop
}

/** Others with the same key: who comes or goes decides which of them works (contract 3.3). */
function addPeers(
  keys: Store<AccessKey>,
  digest: string | null | undefined,
  queue: WorkQueue,
  lane: Lane,
): void {
  if (!digest) return
  const peers = keys.by(accessKey.BY_DIGEST, digest)
  for (const { name } of peers) queue.add(name, lane)
}

/** Earliest end first: after a restart what is overdue is caught up in that order (contract 2.7). */
function byEnd(keys: Iterable<AccessKey>, caps: Caps, nowMs: number): readonly AccessKey[] {
  const ends = [...keys].map((key) => ({
    key,
    endMs: lifetimeOf(key, caps, nowMs).expiresMs ?? Number.POSITIVE_INFINITY,
  }))
  return ends
    .toSorted((a, b) => (a.endMs === b.endMs ? 0 : a.endMs - b.endMs))
    .map(({ key }) => key)
}

function known(caps: FollowedCaps): Caps {
  const current = caps.current()
  if (!current) throw new Error('settings in force have not been seen yet')
  return current
}

const COUNT_AGAIN_AFTER_MS = 1000

/** Only the leader counts: replicas that stand by would count every key once more. */
function followKeys({ stores: { keys }, caps, clock, metrics }: ControllersOptions): void {
  let counts = { byState: {}, capped: 0 }
  let countedMs = Number.NEGATIVE_INFINITY
  const counted = (): ReturnType<typeof countKeys> => {
    const current = caps.current()
    if (current && clock.monotonicMs() - countedMs > COUNT_AGAIN_AFTER_MS) {
      counts = countKeys(
        keys.values(),
        (digest) => keys.by(accessKey.BY_DIGEST, digest),
        current,
        clock.nowMs(),
      )
      countedMs = clock.monotonicMs()
    }
    return counts
  }
  metrics.follow({
    keysByState: () => counted().byState,
    cappedByKind: () => ({ [ACCESS_KEYS.kind]: counted().capped }),
  })
}

/** First and longest pause before a key is tried again. */
const BACK_OFF = { baseDelayMs: 100, maxDelayMs: 15_000 }

interface Loop {
  readonly queue: WorkQueue
  readonly stop: StopController
}

function startLoop(
  { clock, log, metrics }: ControllersOptions,
  name: string,
  workers: number,
  reconcile: (key: string) => Promise<Outcome>,
): Loop {
  const reported = metrics.controller(name)
  const queue = new WorkQueue({ clock, ...BACK_OFF, observer: reported.queue })
  reported.follow(queue)
  return {
    queue,
    stop: startController({ name, queue, workers, reconcile, clock, log, observer: reported.loop }),
  }
}

/** Calls back once every store has been listed in full. */
function whenAllSynced(
  stores: readonly Pick<Store<Cached>, 'whenSynced'>[],
  callback: () => void,
): void {
  let left = stores.length
  for (const store of stores) {
    store.whenSynced(() => {
      left -= 1
      if (left === 0) callback()
    })
  }
}
