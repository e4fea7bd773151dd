// Gateways and an operator with one API server, on one clock: requests are admitted or refused, gateways
// are killed and restarted, and each expiry is recorded.
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import {
  type ActivityRecorder,
  createActivityRecorder,
} from '../../../../src/gateway/activity/recorder.ts'
import type { Store } from '../../../../src/kube/informer/store.ts'
import { sleep } from '../../../../src/runtime/clock.ts'
import { t0 } from '../../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { keyObject } from '../../../support/object-builder.ts'
import type { Random } from '../../../support/random.ts'
import { type SimulatedApi, callerWith, keyStore, simulatedApi } from './recorder-builder.ts'

/** The faults of a simulation. */
export interface Faults {
  /** The longest delay of a request, a response and a watch event, in milliseconds. */
  readonly slowestMs: number
  /** The most calls of one replica that fail in a row; 0 = none. */
  readonly mostFailures: number
  readonly kills: boolean
}

/** What gateways and operator share. */
export interface Shared {
  readonly clock: ManualClock
  readonly api: SimulatedApi
  readonly caps: Caps
  readonly random: Random
  readonly faultRates: Faults
}

/** One gateway, as far as activity goes. */
export interface Replica {
  readonly keys: Store<AccessKey>
  readonly activity: ActivityRecorder
  /** When it was killed; null = it runs, or shut down. */
  killedMs: number | null
  isOver: boolean
}

/** An admitted request. */
export interface Accepted {
  readonly uid: string
  readonly atMs: number
  readonly replica: Replica
}

/** The recorded history. */
export interface History {
  readonly accepted: Accepted[]
  /** When the operator, or a gateway at a request, found a key expired. */
  readonly ends: { readonly uid: string; readonly atMs: number }[]
  /** The use that is recorded after each write to a key, in the order of etcd. */
  readonly recorded: { readonly uid: string; readonly usedMs: number; readonly atMs: number }[]
  /** Of each key that ever existed, in milliseconds. */
  readonly lifetimes: Map<string, number>
  /** How many requests waited until their use was recorded. */
  waited: number
}

/** A running simulation. */
export interface Simulation extends Shared {
  readonly history: History
  readonly addKey: (name: string, ttl: number) => void
  readonly request: (replica: Replica, name: string) => void
  /** The operator checks every key in its store. */
  readonly operate: () => void
}

/** A simulation without gateways and keys. */
export function createSimulation(caps: Caps, random: Random, faultRates: Faults): Simulation {
  const surroundings = { clock: manualClock(t0), api: simulatedApi(), caps, random, faultRates }
  const { clock, api } = surroundings
  const history: History = {
    accepted: [],
    ends: [],
    recorded: [],
    lifetimes: new Map(),
    waited: 0,
  }
  api.listen((after) => {
    const usedMs = Date.parse(after?.status?.lastActivity ?? '')
    if (after && !Number.isNaN(usedMs))
      history.recorded.push({ uid: after.metadata.uid, usedMs, atMs: clock.nowMs() })
  })
  const seen = keyStore()
  api.follow(seen, lagging(surroundings))
  return {
    ...surroundings,
    history,
    addKey: (name, ttl) => {
      const uid = `${name}-${history.lifetimes.size}`
      history.lifetimes.set(uid, ttl * 1000)
      const creationTimestamp = new Date(clock.nowMs()).toISOString()
      api.put(
        keyObject({
          metadata: { name, uid, creationTimestamp },
          spec: { user: 'ada', ttl, ttlAfterLastActivity: true },
        }),
      )
    },
    request: (replica, name) => void request(surroundings, history, replica, name),
    operate: () => {
      const atMs = clock.nowMs()
      for (const key of seen.values()) {
        if (isLive(lifetimeOf(key, caps, atMs).expiresMs, atMs)) continue
        if (api.remove(key.name, key.resourceVersion)) history.ends.push({ uid: key.uid, atMs })
      }
    },
  }
}

/** Events come late, and in the order of etcd. */
const lagging =
  ({ clock, faultRates }: Shared) =>
  (event: () => void): void =>
    void clock.schedule(faultRates.slowestMs, event)

/** Starts a gateway. */
export function createReplica(surroundings: Shared): Replica {
  const { clock, api, caps, random } = surroundings
  const keys = keyStore()
  const ending: Pick<Replica, 'killedMs' | 'isOver'> = { killedMs: null, isOver: false }
  const deliver = lagging(surroundings)
  api.follow(keys, (event) => deliver(() => ending.isOver || event()))
  const way = wayOf(surroundings, () => ending.isOver)
  const activity = createActivityRecorder({
    client: api.client({ there: way, back: way }),
    keys,
    caps: () => caps,
    clock,
    log: memoryLog().log,
    budgetPerSecond: 10,
    random: () => random.between(0, 1),
    observer: { written: () => undefined, failed: () => undefined },
  })
  return Object.assign(ending, { keys, activity })
}

/** Failures in a row are followed by as many successes: a write takes several calls. */
const CALM = 8

/** The way to the API server or back: it takes time, may fail, and ends with the process. */
function wayOf({ clock, random, faultRates }: Shared, isOver: () => boolean) {
  let sinceFailure = 0
  let failures = 0
  return async (signal: AbortSignal = new AbortController().signal): Promise<void> => {
    if (isOver()) await new Promise(() => undefined)
    await sleep(clock, Math.ceil(random.between(0, faultRates.slowestMs)), signal)
    signal.throwIfAborted()
    sinceFailure += 1
    if (sinceFailure > CALM) failures = 0
    if (failures >= faultRates.mostFailures || random.between(0, 1) > 0.3) return
    failures += 1
    sinceFailure = 0
    throw new Error('the line is bad')
  }
}

async function request(
  { clock, caps }: Shared,
  history: History,
  replica: Replica,
  name: string,
): Promise<void> {
  const key = replica.keys.get(name)
  if (!key) return
  const atMs = clock.nowMs()
  const { expiresMs } = lifetimeOf(key, caps, atMs)
  if (!isLive(expiresMs, atMs)) {
    history.ends.push({ uid: key.uid, atMs })
    return
  }
  const noted = await replica.activity.started(callerWith(key, expiresMs))
  if (replica.isOver || noted === 'unavailable') return
  if (noted === 'recorded') history.waited += 1
  history.accepted.push({ uid: key.uid, atMs, replica })
}

/** Shuts it down; time passes meanwhile. */
export async function stop({ clock }: Simulation, replica: Replica): Promise<void> {
  const flushing = { isDone: false }
  void replica.activity.flush().then(() => (flushing.isDone = true))
  while (!flushing.isDone) await clock.advance(10)
  replica.isOver = true
}

/** Kills it. */
export function kill({ clock }: Simulation, replica: Replica): void {
  replica.isOver = true
  replica.killedMs = clock.nowMs()
}
