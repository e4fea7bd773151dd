// Signing keys of managers on an API server in memory, with a manual clock. Each manager has its own caches,
// as old as its last sync.
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  type Resource,
  SECRETS,
  SIGNING_KEY_PREFIX,
  SIGNING_KEY_TYPE,
} from '../../../../src/api/names.ts'
import type { ConfigMap, KubeObject, ObjectMeta, Secret } from '../../../../src/api/objects.ts'
import { createReconcile } from '../../../../src/controllers/signingkey/reconcile.ts'
import type { SigningAlgorithm } from '../../../../src/domain/token/token-claims.ts'
import { StatusError, isConflict } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../../../src/kube/client/client.ts'
import type { Outcome } from '../../../../src/kube/controller/outcome.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { Store, type StoreSink, fullObject } from '../../../../src/kube/informer/store.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'
import { type Keyring, createKeyring } from '../../../../src/signing/keyring.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { type LoggedLine, memoryLog } from '../../../support/memory-log.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'

export const T0 = Date.parse('2026-11-21T10:00:00Z')
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Flags and observed tokens of a manager. A test may change them in place of a restart. */
export interface ManagerSettings {
  algorithm: SigningAlgorithm
  tokenMaxTtlMs: number
  lastExpMs: (kid: string) => number | null
}

/** One manager process. Its caches hold the state of its last sync, and its own writes. */
export interface Manager {
  readonly keyring: Keyring
  readonly settings: ManagerSettings
  /** `create Secret platform-signing-key-1`, and so on. */
  readonly writes: string[]
  readonly events: ObjectEvent[]
  readonly lines: readonly LoggedLine[]
  readonly writeHooks: WriteHooks
  /** Refills the caches from the API server. */
  readonly sync: () => void
  /** One reconcile on the caches as they are. */
  readonly reconcile: () => Promise<Outcome>
  /** Syncs and reconciles until nothing is left to do; gives the time of the next wake-up in epoch milliseconds. */
  readonly settle: () => Promise<number>
  /** Generation of the signing key in use; null = none. */
  readonly signingGeneration: () => number | null
}

/** An API server with its clock, and short accessors of signing keys by generation. */
export interface Cluster extends MemoryApi {
  readonly clock: ManualClock
  readonly startManager: (settings?: Partial<ManagerSettings>) => Manager
  readonly configMap: () => ConfigMap | undefined
  /** kid of a generation in the notes of the ConfigMap; `none` without a note. */
  readonly kidOf: (generation: number) => string
  /** Generations whose public keys are published. */
  readonly publishedGenerations: () => readonly number[]
  /** Generations that are marked as withdrawn. */
  readonly withdrawnGenerations: () => readonly number[]
  /** Generations that have a Secret. */
  readonly secretGenerations: () => readonly number[]
  readonly annotateConfigMap: (annotations: Readonly<Record<string, string>>) => void
  /** Changes data of the ConfigMap as another client. */
  readonly editConfigMap: (data: Readonly<Record<string, string>>) => void
  /** Changes a Secret as another client; null deletes it. */
  readonly putSecret: (generation: number, secret: ObjectPatch | null) => void
}

type Notes = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A cluster without signing keys, at T0. */
export function newCluster(): Cluster {
  const clock = manualClock(T0)
  const api = memoryApi(clock)
  const configMap = () => api.configMaps.get(JWKS_CONFIG_MAP)
  const parsed = (key: string): unknown => JSON.parse(configMap()?.data?.[key] ?? 'null')
  const notes = () => Object.entries((parsed('keys.json') ?? {}) as Notes)
  const generationOf = (kid: string) => {
    const noted = notes().find(([other]) => other === kid)?.[1]['generation']
    return typeof noted === 'number' ? noted : 0
  }
  const jwks = () => (parsed('jwks.json') as { keys: { kid: string }[] } | null)?.keys ?? []
  return {
    ...api,
    clock,
    startManager: (settings = {}) => startManager(clock, api, generationOf, settings),
    configMap,
    kidOf: (generation) =>
      notes().find(([, note]) => note['generation'] === generation)?.[0] ?? 'none',
    publishedGenerations: () => jwks().map(({ kid }) => generationOf(kid)),
    withdrawnGenerations: () =>
      notes()
        .filter(([, note]) => note['withdrawn'] !== undefined)
        .map(([kid]) => generationOf(kid)),
    secretGenerations: () =>
      [...api.secrets.keys()]
        .map((name) => Number(name.slice(SIGNING_KEY_PREFIX.length)))
        .toSorted((a, b) => a - b),
    annotateConfigMap: (annotations) =>
      api.put(CONFIG_MAPS, JWKS_CONFIG_MAP, { metadata: { annotations } }),
    editConfigMap: (data) =>
      api.put(CONFIG_MAPS, JWKS_CONFIG_MAP, { data: { ...configMap()?.data, ...data } }),
    putSecret: (generation, secret) =>
      api.put(SECRETS, `${SIGNING_KEY_PREFIX}${generation}`, secret),
  }
}

/** Key 1 signs, key 2 is published; the manager has settled, 16 days after T0. */
export async function clusterWithTwoKeys(): Promise<{
  readonly cluster: Cluster
  readonly manager: Manager
}> {
  const cluster = newCluster()
  await cluster.startManager().settle()
  cluster.clock.setNow(T0 + 16 * DAY_MS)
  const manager = cluster.startManager()
  await manager.settle()
  cluster.clock.setNow(T0 + 16 * DAY_MS + HOUR_MS)
  await manager.settle()
  manager.writes.length = 0
  return { cluster, manager }
}

function startManager(
  clock: ManualClock,
  api: MemoryApi,
  generationOf: (kid: string) => number,
  overrides: Partial<ManagerSettings>,
): Manager {
  const settings: ManagerSettings = {
    algorithm: 'ES256',
    tokenMaxTtlMs: DAY_MS,
    lastExpMs: () => null,
    ...overrides,
  }
  const stores = {
    secrets: new Store(fullObject<Secret>),
    records: new Store(fullObject<ConfigMap>),
  }
  const { log, lines } = memoryLog()
  const writes: string[] = []
  const events: ObjectEvent[] = []
  const writeHooks: WriteHooks = {}
  const keyring = createKeyring({ ...stores, namespace: 'platform-system', clock, log })
  const reconcile = createReconcile({
    client: api.client(writeHooks, writes),
    keyring,
    records: stores.records,
    namespace: 'platform-system',
    get algorithm() {
      return settings.algorithm
    },
    get tokenMaxTtlMs() {
      return settings.tokenMaxTtlMs
    },
    lastExpMs: (kid) => settings.lastExpMs(kid),
    events: {
      record: (event) => void events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    clock,
  })
  const reconcileOnce = () => reconcile(reconcileContext(log))
  const sync = (): void => {
    refill(
      stores.secrets,
      [...api.secrets.values()].filter(({ type }) => type === SIGNING_KEY_TYPE),
    )
    refill(stores.records, [...api.configMaps.values()])
  }
  const settle = async (): Promise<number> => {
    for (let round = 0; round < 50; round += 1) {
      sync()
      const outcome = await unlessConflict(reconcileOnce())
      if (outcome.result === 'later' && outcome.atMs > clock.nowMs()) return outcome.atMs
    }
    throw new Error(`not settled: ${writes.slice(-6).join(', ')}`)
  }
  const signingGeneration = (): number | null => {
    const kid = keyring.current()?.kid
    return kid === undefined ? null : generationOf(kid)
  }
  return {
    keyring,
    settings,
    writes,
    events,
    lines,
    writeHooks,
    sync,
    reconcile: reconcileOnce,
    settle,
    signingGeneration,
  }
}

function refill(store: StoreSink, objects: readonly KubeObject[]): void {
  store.begin()
  for (const object of objects) store.put(structuredClone(object))
  store.end()
}

/** Like the controller: a conflict of a stale cache is no failure. */
async function unlessConflict(reconciled: Promise<Outcome>): Promise<Outcome> {
  try {
    return await reconciled
  } catch (error) {
    if (isConflict(error)) return { result: 'done' }
    throw error
  }
}

/** Run before and after each write; a hook that throws simulates a crash at that point. */
export interface WriteHooks {
  before?: (write: string) => void
  after?: (write: string) => void
}

/** Fields of an object to change; other fields stay. */
export type ObjectPatch = Partial<Omit<Secret & ConfigMap, 'metadata'>> & {
  readonly metadata?: Partial<ObjectMeta>
}

/** Secrets and ConfigMaps in memory, with the uids, creation times, resourceVersions and conflicts of an API server. */
export interface MemoryApi {
  readonly secrets: ReadonlyMap<string, Secret>
  readonly configMaps: ReadonlyMap<string, ConfigMap>
  /** Changes an object as another client; null deletes it. */
  readonly put: (resource: Resource, name: string, object: ObjectPatch | null) => void
  /** @param writes receives each completed write, such as `create Secret platform-signing-key-1` */
  readonly client: (writeHooks: WriteHooks, writes: string[]) => KubeClient
}

/** An API server without objects. */
function memoryApi(clock: Clock): MemoryApi {
  const secrets = new Map<string, Secret>()
  const configMaps = new Map<string, ConfigMap>()
  let revision = 0
  const objectsOf = ({ kind }: Resource): Map<string, KubeObject> =>
    kind === SECRETS.kind ? secrets : configMaps
  const store = (resource: Resource, object: NewObject | KubeObject): KubeObject => {
    revision += 1
    const { name = '' } = object.metadata
    const creationTimestamp = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z/, 'Z')
    const namespace = 'platform-system'
    const defaults = {
      namespace,
      uid: `uid-${revision}`,
      creationTimestamp,
      ...object.metadata,
      name,
    }
    const envelope = { apiVersion: 'v1', kind: resource.kind }
    const metadata = { ...defaults, resourceVersion: String(revision) }
    const stored = structuredClone({ ...envelope, ...object, metadata })
    objectsOf(resource).set(name, stored)
    return stored
  }
  const checkPreconditions = (
    resource: Resource,
    name: string,
    metadata: Partial<ObjectMeta>,
  ): void => {
    const before = objectsOf(resource).get(name)?.metadata
    if (!before) throw failure(404, 'NotFound')
    const isSame =
      before.uid === metadata.uid && before.resourceVersion === metadata.resourceVersion
    if (!isSame) throw failure(409, 'Conflict')
  }
  const client = (writeHooks: WriteHooks, writes: string[]): KubeClient => {
    const write = async (
      verb: string,
      { kind }: Resource,
      name: string,
      action: () => KubeObject | null,
    ) => {
      const description = `${verb} ${kind} ${name}`
      writeHooks.before?.(description)
      const answer = action()
      writes.push(description)
      writeHooks.after?.(description)
      // The type depends on the resource, as with the API server.
      return structuredClone(answer) as never
    }
    return {
      get: (resource, { name }) =>
        Promise.resolve(structuredClone(objectsOf(resource).get(name) ?? null) as never),
      create: (resource, object) =>
        write('create', resource, object.metadata.name ?? '', () => {
          if (objectsOf(resource).has(object.metadata.name ?? ''))
            throw failure(409, 'AlreadyExists')
          return store(resource, object)
        }),
      replace: (resource, object) =>
        write('replace', resource, object.metadata.name, () => {
          checkPreconditions(resource, object.metadata.name, object.metadata)
          return store(resource, object)
        }),
      delete: (resource, { name }, preconditions) =>
        write('delete', resource, name, () => {
          if (!objectsOf(resource).has(name)) return null
          checkPreconditions(resource, name, preconditions)
          objectsOf(resource).delete(name)
          return null
        }),
      list: unsupported,
      watch: unsupported,
      apply: unsupported,
      patch: unsupported,
    }
  }
  return {
    secrets,
    configMaps,
    put: (resource, name, object) => {
      const before = objectsOf(resource).get(name)
      objectsOf(resource).delete(name)
      if (object === null) return
      const metadata = { ...before?.metadata, ...object.metadata, name }
      store(resource, { ...before, ...object, metadata } as KubeObject)
    },
    client,
  }
}

const unsupported = (): Promise<never> =>
  Promise.reject(new Error('not implemented by the in-memory API'))

const failure = (code: number, reason: string): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs: null, isTestFailed: code === 422 })
