import type { RevocationList } from '../../authn/revocation/revocation-list.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { CircuitBreaker } from '../../kube/client/circuit-breaker.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import {
  type Outcome,
  type StopController,
  startController,
} from '../../kube/controller/controller.ts'
import { WorkQueue } from '../../kube/controller/work-queue.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { CachedObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { FollowedCaps } from '../../settings/caps.ts'
import type { FollowedIssuer } from '../../settings/issuer.ts'
import type { Keyring } from '../../signing/keyring.ts'
import type { ManagerSettings } from './flags.ts'
import type { Stores } from './informers.ts'
import type { Metrics } from './metrics.ts'

/** Shared by all controllers. */
export interface ControllersOptions {
  readonly settings: ManagerSettings
  readonly client: KubeClient
  readonly stores: Stores
  readonly caps: FollowedCaps
  readonly issuer: FollowedIssuer
  readonly keyring: Keyring
  readonly revocations: RevocationList
  readonly events: EventRecorder
  readonly clock: Clock
  /** Shares the event loop among all controllers. */
  readonly turns: EventLoopShare
  /** Whether the API server responds: while it does not, no object is reconciled. */
  readonly outage: CircuitBreaker
  readonly log: Log
  readonly metrics: Metrics
}

/** A running controller. */
export interface Loop {
  readonly queue: WorkQueue
  readonly stop: StopController
}

/** First and longest back-off of a key. */
const BACK_OFF = { baseDelayMs: 100, maxDelayMs: 15_000 }

/** Starts a controller with a queue of its own. */
export function startLoop(
  {
    clock,
    turns,
    outage,
    log,
    metrics,
  }: Pick<ControllersOptions, 'clock' | 'turns' | 'outage' | 'log' | 'metrics'>,
  name: string,
  workers: number,
  reconcile: (key: string) => Promise<Outcome>,
  objectOf: (key: string) => CachedObject | undefined,
): Loop {
  const reported = metrics.controller(name)
  const queue = new WorkQueue({ clock, ...BACK_OFF, observer: reported.queue, gate: outage })
  reported.follow(queue)
  return {
    queue,
    stop: startController({
      name,
      queue,
      workers,
      reconcile,
      objectOf,
      clock,
      turns,
      outage,
      log,
      observer: reported.loop,
    }),
  }
}

/** Calls back once every store has synced. */
export function whenAllSynced(
  stores: readonly Pick<Store<CachedObject>, 'whenSynced'>[],
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

/**
 * The caps in force.
 *
 * @throws Error before settings in force are known: nothing may be decided without them
 */
export function knownCaps(caps: FollowedCaps): Caps {
  const current = caps.current()
  if (!current) throw new Error('settings in force have not been seen yet')
  return current
}
