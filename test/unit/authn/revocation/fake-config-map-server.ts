// ConfigMaps in memory, watched into a store as a manager does, over a connection that a test may disturb.
import { CONFIG_MAPS } from '../../../../src/api/names.ts'
import type { ConfigMap, KubeObject } from '../../../../src/api/objects.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import { type FullObject, Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { type Clock, sleep } from '../../../../src/runtime/clock.ts'
import { memoryApi, silence } from '../../../support/fake-kube-client.ts'

type Data = Readonly<Record<string, string>>

/** The API server. Managers connect to it, one after the other. */
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
): StatusError => new StatusError({ code, reason, message: reason, retryAfterMs, causes: 0 })

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
  mishap: (method: Request['method']) => RequestFailure
  /** How long the watch takes; null = it is broken. */
  watchMs: number | null
  /** Lists again, as after a broken watch. */
  relist(): void
  /** Ends the process: requests in flight arrive, no response and no event comes back. */
  die(): void
}

const LATENCY_MS = 10
const never = new AbortController().signal

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
    const mishap = self.mishap(method)
    requests.push({ method, atMs: clock.monotonicMs() })
    await travel()
    if (typeof mishap === 'object' && mishap) throw mishap.refused
    const answer = await act()
    await travel()
    if (isDead) await silence()
    if (mishap === 'lost') throw new Error('other side closed')
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
    mishap: () => null,
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
