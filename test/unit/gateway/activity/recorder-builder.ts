// A gateway as far as activity goes, whose watch does not lag, on a clock that a test moves.
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { Caller } from '../../../../src/authn/caller.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  type ActivityRecorder,
  createActivityRecorder,
} from '../../../../src/gateway/activity/recorder.ts'
import type { Store } from '../../../../src/kube/informer/store.ts'
import { t0 } from '../../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { type Parts, keyObject } from '../../../support/object-builder.ts'
import {
  type Line,
  type SimulatedApi,
  UNCAPPED,
  callerWith,
  keyStore,
  simulatedApi,
} from './simulated-api.ts'

/** Seconds. */
export const HOUR = 3600
/** The spec of a key that slides for an hour. */
export const slides = { user: 'ada', ttl: HOUR, ttlAfterLastActivity: true }

/** The gateway, and what it works with. */
export interface Stage {
  readonly api: SimulatedApi
  readonly keys: Store<AccessKey>
  readonly clock: ManualClock
  readonly activity: ActivityRecorder
  /** Names of the keys whose use was written, in order. */
  readonly written: string[]
  /** How often a use could not be recorded. */
  readonly failures: () => number
  readonly sentences: () => readonly string[]
  readonly add: (name: string, parts?: Parts<OwnedAccessKey>) => void
  readonly caller: (name: string) => Caller
  readonly lastActivity: (name: string) => string | undefined
}

/** It begins at t0. */
export function stage({ line = {}, budget = 10 }: { line?: Line; budget?: number } = {}): Stage {
  const api = simulatedApi()
  const clock = manualClock(t0)
  const keys = keyStore()
  const { log, lines } = memoryLog()
  api.follow(keys, (event) => event())
  const written: string[] = []
  api.listen((now, before) => {
    if (now && before && now.status?.lastActivity !== before.status?.lastActivity)
      written.push(now.metadata.name)
  })
  let counted = 0
  let failures = 0
  const activity = createActivityRecorder({
    client: api.client(line),
    keys,
    caps: () => UNCAPPED,
    clock,
    log,
    budgetPerSecond: budget,
    random: () => 0,
    observer: {
      written: () => {
        counted += 1
        if (counted > written.length) throw new Error('more were counted than written')
      },
      failed: () => {
        failures += 1
      },
    },
  })
  return {
    api,
    keys,
    clock,
    activity,
    written,
    failures: () => failures,
    sentences: () => lines.map(({ sentence }) => sentence),
    add: (name, { metadata, ...parts } = {}) =>
      void api.put(keyObject({ metadata: { name, uid: `uid-${name}`, ...metadata }, ...parts })),
    caller: (name) => {
      const key = keys.get(name)
      if (!key) throw new Error(`there is no key ${name}`)
      return callerWith(key)
    },
    lastActivity: (name) => api.get(name)?.status?.lastActivity,
  }
}
