import { randomBytes } from 'node:crypto'
import { ACCESS_KEYS } from '../../api/group.ts'
import { configSettingsSchema } from '../../api/config.schema.gen.ts'
import * as config from '../../controllers/config/reconcile.ts'
import { countKeys, keyEnds } from '../../controllers/ownedaccesskey/counts.ts'
import { namesByEnd, namesTouchedBy } from '../../controllers/ownedaccesskey/order.ts'
import * as accessKey from '../../controllers/ownedaccesskey/reconcile.ts'
import type { FollowedCaps } from '../../credentials/caps.ts'
import { formatKey } from '../../domain/key.ts'
import type { Caps } from '../../domain/lifetime.ts'
import type { KubeClient } from '../../kube/client.ts'
import { type Outcome, type StopController, startController } from '../../kube/controller.ts'
import type { EventRecorder } from '../../kube/events.ts'
import { WorkQueue } from '../../kube/queue.ts'
import type { Cached, Store } from '../../kube/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { compileCheck } from '../../runtime/schema.ts'
import type { ManagerSettings } from '../../runtime/settings.ts'
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
  whenAllSynced([keys], () => {
    keys.subscribe((change) => {
      if (caps.current() === null) return
      const lane = change.listed ? 'refresh' : 'fresh'
      for (const name of namesTouchedBy(change, keys)) loop.queue.add(name, lane)
    })
    caps.subscribe((inForce) => {
      for (const name of namesByEnd(keys, inForce, clock.nowMs())) loop.queue.add(name, 'refresh')
    })
  })
  followKeys(options)
  return loop.stop
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
      counts = countKeys(keys, current, clock.nowMs())
      countedMs = clock.monotonicMs()
    }
    return counts
  }
  metrics.follow({
    keysByState: () => counted().byState,
    cappedByKind: () => ({ [ACCESS_KEYS.kind]: counted().capped }),
    keyEnds: () => {
      const current = caps.current()
      return current ? keyEnds(keys, current, clock.nowMs()) : []
    },
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
