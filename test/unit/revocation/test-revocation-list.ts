// A manager's revocation list, on a fake server and a manual clock.
import { CONFIG_MAPS } from '../../../src/api/names.ts'
import type { ConfigMap, KubeObject } from '../../../src/api/objects.ts'
import {
  type RevocationList,
  createRevocationList,
} from '../../../src/revocation/revocation-list.ts'
import { StatusError } from '../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { type FullObject, Store, fullObject } from '../../../src/kube/informer/store.ts'
import { type Clock, sleep } from '../../../src/runtime/clock.ts'
import { memoryApi, silence } from '../../support/fake-kube-client.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { type LoggedLine, memoryLog } from '../../support/memory-log.ts'

/** 2026-11-21T10:00:00Z, when every test begins. */
export const T0 = Date.parse('2026-11-21T10:00:00Z')
/** One hour, in milliseconds. */
export const HOUR_MS = 3_600_000
/** Name of the ConfigMap of the hour that begins at T0, and of the one after. */
export const HOUR = 'platform-revoked-tokens-2026112110'
export const NEXT_HOUR = 'platform-revoked-tokens-2026112111'
/** Half an hour after T0, and as it is stored. */
export const EXPIRES_MS = T0 + HOUR_MS / 2
export const EXP = '2026-11-21T10:30:00Z'

/** A signal that never aborts. */
export const never = new AbortController().signal

/** A manager that leads. */
export interface Manager extends Connection {
  readonly records: RevocationList
  /** The tokens that its listeners were called with. */
  readonly notified: readonly string[]
  readonly lines: readonly LoggedLine[]
  /** How many revocations were counted. */
  revoked: number
}

/** Starts a manager that leads. */
export function startManager(server: FakeConfigMapServer, clock: ManualClock): Manager {
  const connection = connect(server, clock)
  const { log, lines } = memoryLog()
  const notified: string[] = []
  const self = Object.assign(connection, { notified, lines, revoked: 0 })
  const records = createRevocationList({
    client: connection.client,
    configMaps: connection.configMaps,
    namespace: 'platform-system',
    clock,
    log,
    observer: {
      revoked: (count) => {
        self.revoked += count
      },
    },
  })
  records.subscribe((jtis) => notified.push(...jtis))
  return Object.assign(self, { records })
}

/** An empty server and one manager. */
export function serverAndManager() {
  const clock = manualClock(T0)
  const server = fakeConfigMapServer()
  return { clock, server, one: startManager(server, clock) }
}

/** That many different jtis. */
export const jtis = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `jti-${index}`)

/** Whether the request is a write. */
export const isWrite = ({ method }: Request): boolean => method !== 'get'

/** The most writes within any one second. */
export function mostWritesInASecond(requests: readonly Request[]): number {
  const times = requests.filter(isWrite).map(({ atMs }) => atMs)
  const from = (startMs: number) => times.filter((at) => at >= startMs && at < startMs + 1000)
  return Math.max(0, ...times.map((startMs) => from(startMs).length))
}

/** How many entries each ConfigMap has. */
export const entriesByName = (server: FakeConfigMapServer): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(server.data()).map(([name, data]) => [name, Object.keys(data).length]),
  )

/** Failures of the next writes, one after the other; reads succeed. */
export function failNextWrites(...list: readonly RequestFailure[]): Connection['failureOf'] {
  const left = [...list]
  return (method) => (method === 'get' ? null : (left.shift() ?? null))
}

/** The methods of all requests, in order. */
export const requestMethods = ({ requests }: Connection): readonly string[] =>
  requests.map(({ method }) => method)

/** Reports whether the promise has resolved by now. */
export function trackSettled(promise: Promise<void>): () => boolean {
  let isSettled = false
  void promise.then(() => {
    isSettled = true
  })
  return () => isSettled
}

// ConfigMaps in memory with watches, over connections whose faults a test decides.

type Data = Readonly<Record<string, string>>

/** The API server; managers connect one after the other. */
export interface FakeConfigMapServer {
  readonly objects: ReadonlyMap<string, KubeObject>
  /** A client whose requests all succeed. */
  readonly client: KubeClient
  /** What is stored, by name. */
  data(): Readonly<Record<string, Data>>
  /** Writes as a user would; undefined deletes. */
  edit(name: string, data: Data | undefined): Promise<void>
  /** Calls back after each change. */
  onChange(listener: () => void): void
}

/** A server without ConfigMaps. */
export function fakeConfigMapServer(): FakeConfigMapServer {
  const api = memoryApi()
  const { objects } = api
  const plain = api.client()
  const listeners: (() => void)[] = []
  const notifying = async <T>(write: Promise<T>): Promise<T> => {
    const answer = await write
    for (const listener of listeners) listener()
    return answer
  }
  const remove: KubeClient['delete'] = async (_, { name }, { uid, resourceVersion }) => {
    const found = objects.get(name)?.metadata
    if (!found) return null
    if (found.uid !== uid || found.resourceVersion !== resourceVersion)
      throw failure(409, 'Conflict')
    objects.delete(name)
    return null
  }
  const client: KubeClient = {
    ...plain,
    create: (...args) => notifying(plain.create(...args)),
    replace: async (resource, object, reason) => {
      if (!objects.has(object.metadata.name)) throw failure(404, 'NotFound')
      return notifying(plain.replace(resource, object, reason))
    },
    delete: (...args) => notifying(remove(...args)),
  }
  const edit = async (name: string, data: Data | undefined): Promise<void> => {
    const found = objects.get(name)
    const envelope = { apiVersion: 'v1', kind: 'ConfigMap', data }
    if (!found)
      await client.create(
        CONFIG_MAPS,
        { ...envelope, metadata: { name, namespace: 'platform-system' } },
        '',
      )
    else if (data) await client.replace(CONFIG_MAPS, { ...found, ...envelope }, '')
    else await client.delete(CONFIG_MAPS, { name }, found.metadata, '')
  }
  return {
    objects,
    client,
    edit,
    data: () => Object.fromEntries([...objects].map(([name, one]) => [name, dataOf(one)])),
    onChange: (listener) => void listeners.push(listener),
  }
}

const dataOf = (object: KubeObject): Data => (object as ConfigMap).data ?? {}

/** An error of the API server. */
export const failure = (
  code: number,
  reason: string,
  retryAfterMs: number | null = null,
): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs, isTestFailed: code === 422 })

/** How a request fails: it is refused, or its response is lost. null = it succeeds. */
export type RequestFailure = { readonly refused: Error } | 'lost' | null

/** A request that was sent, at a moment of the monotonic counter. */
export interface Request {
  readonly method: 'get' | 'create' | 'replace' | 'delete'
  readonly atMs: number
}

/** One manager's connection. */
export interface Connection {
  readonly client: KubeClient
  readonly configMaps: Store<FullObject<ConfigMap>>
  readonly requests: readonly Request[]
  /** Decides how the next request fails. */
  failureOf: (method: Request['method']) => RequestFailure
  /** How long the watch takes; null = it is broken. */
  watchMs: number | null
  /** Lists again, as after a broken watch. */
  relist(): void
  /** Ends the process: requests in flight arrive, no response and no event comes back. */
  die(): void
}

const LATENCY_MS = 10

/** Connects, and lists all ConfigMaps. */
export function connect(server: FakeConfigMapServer, clock: Clock): Connection {
  const { objects, client } = server
  const configMaps = new Store(fullObject<ConfigMap>)
  const requests: Request[] = []
  let shown: ReadonlyMap<string, KubeObject> = new Map()
  let isDead = false
  /** A list has everything that events in flight would deliver. */
  let listings = 0

  const travel = (): Promise<void> => sleep(clock, LATENCY_MS, never)
  const call = async <T>(method: Request['method'], act: () => Promise<T>): Promise<T> => {
    if (isDead) await silence()
    const fault = self.failureOf(method)
    requests.push({ method, atMs: clock.monotonicMs() })
    await travel()
    if (typeof fault === 'object' && fault) throw fault.refused
    const answer = await act()
    await travel()
    if (isDead) await silence()
    if (fault === 'lost') throw new Error('other side closed')
    return answer
  }
  const show = (state: ReadonlyMap<string, KubeObject>): void => {
    if (isDead || self.watchMs === null) return
    const before = shown
    shown = state
    for (const [name, object] of before) if (!state.has(name)) configMaps.remove(object)
    for (const [name, object] of state) if (before.get(name) !== object) configMaps.put(object)
  }
  server.onChange(() => {
    const state = new Map(objects)
    const listing = listings
    if (self.watchMs !== null)
      clock.schedule(self.watchMs, () => listing === listings && show(state))
  })
  const self: Connection = {
    client: {
      ...client,
      get: (...args) => call('get', () => client.get(...args)),
      create: (...args) => call('create', () => client.create(...args)),
      replace: (...args) => call('replace', () => client.replace(...args)),
      delete: (...args) => call('delete', () => client.delete(...args)),
    },
    configMaps,
    requests,
    failureOf: () => null,
    watchMs: 5,
    relist: () => {
      listings += 1
      shown = new Map(objects)
      configMaps.begin()
      for (const object of objects.values()) configMaps.put(object)
      configMaps.end()
    },
    die: () => {
      isDead = true
    },
  }
  self.relist()
  return self
}
