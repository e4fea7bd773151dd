// An activity recorder on a manual clock, and an API server in memory that it writes to.
import type { KubeObject } from '../../../../src/api/objects.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { KeyCaller } from '../../../../src/authn/caller.ts'
import { secretDigest } from '../../../../src/authn/credential-index.ts'
import { type AccessKey, accessKeyOf } from '../../../../src/domain/accesskey/access-key.ts'
import type { Caps } from '../../../../src/domain/accesskey/lifetime.ts'
import {
  type ActivityRecorder,
  createActivityRecorder,
} from '../../../../src/gateway/activity/recorder.ts'
import type { KubeClient, PatchOperation } from '../../../../src/kube/client/client.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { t0 } from '../../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { type Parts, keyObject } from '../../../support/object-builder.ts'

/** Seconds. */
export const HOUR = 3600
/** The spec of a key that slides for an hour. */
export const slides = { user: 'ada', ttl: HOUR, ttlAfterLastActivity: true }

/** An activity recorder with what it works on. */
export interface RecorderSetup {
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
  readonly caller: (name: string) => KeyCaller
  readonly lastActivity: (name: string) => string | undefined
}

/** A recorder whose clock starts at t0. */
export function setUpRecorder({
  line = {},
  budget = 10,
}: {
  line?: Line
  budget?: number
} = {}): RecorderSetup {
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

// An API server in memory with access keys: JSON patches with tests, delayed watches, connections
// that fail. test/cluster sends the same patches to a real one.

/** No caps, but the default for logins. */
export const UNCAPPED: Caps = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }

/** A store of keys as a gateway has one. */
export const keyStore = (): Store<AccessKey> =>
  new Store((object: KubeObject) => accessKeyOf(object as OwnedAccessKey, secretDigest))

/** The caller of this key. */
export const callerWith = (key: AccessKey, expiresMs: number | null = null): KeyCaller => ({
  key,
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs,
})

/** Delays of a request and its response; throw to fail it. */
export interface Line {
  readonly there?: (signal?: AbortSignal) => Promise<void>
  readonly back?: (signal?: AbortSignal) => Promise<void>
  /** false = patches are answered, and change nothing. */
  readonly keeps?: boolean
}

/** The keys, and the listeners of their changes. */
export interface SimulatedApi {
  readonly get: (name: string) => OwnedAccessKey | undefined
  /** Stores a key under a new resourceVersion. */
  readonly put: (object: OwnedAccessKey) => OwnedAccessKey
  readonly patch: (name: string, operations: readonly PatchOperation[]) => OwnedAccessKey
  /** @returns whether it still had that version */
  readonly remove: (name: string, resourceVersion: string) => boolean
  /** Calls back at every change, null = removed. */
  readonly listen: (
    listener: (after: OwnedAccessKey | null, before: OwnedAccessKey | null) => void,
  ) => void
  /** Fills a store, and keeps it filled by way of `deliver`. */
  readonly follow: (keys: Store<AccessKey>, deliver: (event: () => void) => void) => void
  readonly client: (line?: Line) => Pick<KubeClient, 'get' | 'patch'>
}

/** An empty one. */
export function simulatedApi(): SimulatedApi {
  const objects = new Map<string, OwnedAccessKey>()
  const listeners: Parameters<SimulatedApi['listen']>[0][] = []
  let revision = 0
  const tell = (after: OwnedAccessKey | null, before: OwnedAccessKey | null): void => {
    for (const listener of listeners) listener(after, before)
  }
  const put: SimulatedApi['put'] = (object) => {
    revision += 1
    const metadata = { ...object.metadata, resourceVersion: String(revision) }
    const before = objects.get(metadata.name) ?? null
    const after = { ...object, metadata }
    objects.set(metadata.name, after)
    tell(after, before)
    return after
  }
  const patch: SimulatedApi['patch'] = (name, operations) => {
    const object = objects.get(name)
    if (!object) throw refused(404, 'NotFound')
    return put(patched(object, operations))
  }
  const client: SimulatedApi['client'] = (line = {}) => {
    const call = async <T>(act: () => unknown, signal?: AbortSignal): Promise<T> => {
      await line.there?.(signal)
      const answer = act()
      await line.back?.(signal)
      return structuredClone(answer) as T
    }
    return {
      get: (_, { name }, signal) => call(() => objects.get(name) ?? null, signal),
      patch: (_, { name }, operations, _reason, _status, signal) =>
        call(() => (line.keeps === false ? objects.get(name) : patch(name, operations)), signal),
    }
  }
  return {
    get: (name) => objects.get(name),
    put,
    patch,
    remove: (name, resourceVersion) => {
      const object = objects.get(name)
      if (object?.metadata.resourceVersion !== resourceVersion) return false
      objects.delete(name)
      tell(null, object)
      return true
    },
    listen: (listener) => void listeners.push(listener),
    follow: (keys, deliver) => {
      keys.begin()
      for (const object of objects.values()) keys.put(object)
      keys.end()
      listeners.push((after, before) =>
        deliver(() => {
          if (after) keys.put(after)
          else if (before) keys.remove(before)
        }),
      )
    },
    client,
  }
}

/** As kube-apiserver does it: a test for null holds where there is nothing. */
function patched(object: OwnedAccessKey, operations: readonly PatchOperation[]): OwnedAccessKey {
  const copy = structuredClone(object)
  for (const { op, path, value } of operations) {
    const names = path.split('/').slice(1)
    const last = names.pop() ?? ''
    const parent = names.reduce<unknown>(
      (one, name) => (one as Record<string, unknown> | undefined)?.[name],
      copy,
    ) as Record<string, unknown> | undefined
    if (parent === undefined) throw refused(422, 'Invalid')
    if (op === 'test' && (parent[last] ?? null) !== value) throw refused(422, 'Invalid')
    if (op === 'add') parent[last] = value
  }
  return copy
}
