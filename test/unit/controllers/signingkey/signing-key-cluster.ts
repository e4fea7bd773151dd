// Signing keys in a world of its own: an API server in memory, a clock that a test moves, and managers,
// each with its own view of it, which is as old as its last sync.
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  SECRETS,
  SIGNING_KEY_PREFIX,
  SIGNING_KEY_TYPE,
} from '../../../../src/api/names.ts'
import type { ConfigMap, KubeObject, Secret } from '../../../../src/api/objects.ts'
import { createReconcile } from '../../../../src/controllers/signingkey/reconcile.ts'
import type { SigningAlgorithm } from '../../../../src/domain/token/token-claims.ts'
import { isConflict } from '../../../../src/kube/client/api-error.ts'
import type { Outcome } from '../../../../src/kube/controller/controller.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { Store, type StoreSink, fullObject } from '../../../../src/kube/informer/store.ts'
import { type Keyring, createKeyring } from '../../../../src/signing/keyring.ts'
import { type ManualClock, manualClock } from '../../../support/clock.ts'
import { type LoggedLine, memoryLog } from '../../../support/memory-log.ts'
import { type Api, type Given, type Line, apiWith } from './api.ts'

export const T0 = Date.parse('2026-11-21T10:00:00Z')
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** What a manager runs with; a test may change it as it goes, which saves a restart. */
export interface Circumstances {
  algorithm: SigningAlgorithm
  tokenMaxTtlMs: number
  lastExpMs: (kid: string) => number | null
}

/** One process: what it knows is what it knew at its last sync, and its own writes. */
export interface Manager {
  readonly keyring: Keyring
  readonly circumstances: Circumstances
  /** `create Secret platform-signing-key-1`, and so on. */
  readonly writes: string[]
  readonly told: ObjectEvent[]
  readonly lines: readonly LoggedLine[]
  readonly line: Line
  /** Takes in what the API server has now. */
  readonly sync: () => void
  /** One reconcile on the view as it is. */
  readonly step: () => Promise<Outcome>
  /** Syncs and steps until there is nothing to do; the moment to which it waits. */
  readonly settle: () => Promise<number>
  /** Generation of the key that would sign now; null = none would. */
  readonly signs: () => number | null
}

/** An API server with its clock, and shorter words for what stands in it. */
export interface World extends Api {
  readonly clock: ManualClock
  readonly manager: (circumstances?: Partial<Circumstances>) => Manager
  readonly record: () => ConfigMap | undefined
  /** kid of a generation that is noted. */
  readonly kid: (generation: number) => string
  /** Generations whose public keys are published. */
  readonly published: () => readonly number[]
  /** Generations that are marked as withdrawn. */
  readonly withdrawn: () => readonly number[]
  /** Generations that have a Secret. */
  readonly held: () => readonly number[]
  readonly annotate: (annotations: Readonly<Record<string, string>>) => void
  /** Changes data of the ConfigMap as somebody else. */
  readonly edit: (data: Readonly<Record<string, string>>) => void
  /** Changes a Secret as somebody else; null takes it away. */
  readonly putKey: (generation: number, secret: Given | null) => void
}

type Notes = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** An empty one. */
export function world(): World {
  const clock = manualClock(T0)
  const api = apiWith(clock)
  const record = () => api.maps.get(JWKS_CONFIG_MAP)
  const parsed = (key: string): unknown => JSON.parse(record()?.data?.[key] ?? 'null')
  const notes = () => Object.entries((parsed('keys.json') ?? {}) as Notes)
  const generationOf = (kid: string) => {
    const noted = notes().find(([other]) => other === kid)?.[1]['generation']
    return typeof noted === 'number' ? noted : 0
  }
  const jwks = () => (parsed('jwks.json') as { keys: { kid: string }[] } | null)?.keys ?? []
  return {
    ...api,
    clock,
    manager: (circumstances = {}) => managerOf(clock, api, generationOf, circumstances),
    record,
    kid: (generation) =>
      notes().find(([, note]) => note['generation'] === generation)?.[0] ?? 'none',
    published: () => jwks().map(({ kid }) => generationOf(kid)),
    withdrawn: () =>
      notes()
        .filter(([, note]) => note['withdrawn'] !== undefined)
        .map(([kid]) => generationOf(kid)),
    held: () =>
      [...api.secrets.keys()]
        .map((name) => Number(name.slice(SIGNING_KEY_PREFIX.length)))
        .toSorted((a, b) => a - b),
    annotate: (annotations) => api.put(CONFIG_MAPS, JWKS_CONFIG_MAP, { metadata: { annotations } }),
    edit: (data) => api.put(CONFIG_MAPS, JWKS_CONFIG_MAP, { data: { ...record()?.data, ...data } }),
    putKey: (generation, secret) => api.put(SECRETS, `${SIGNING_KEY_PREFIX}${generation}`, secret),
  }
}

/** Key 1 signs, key 2 waits; a manager that has come to rest, at the age of 16 days. */
export async function twoKeys(): Promise<{ readonly w: World; readonly m: Manager }> {
  const w = world()
  await w.manager().settle()
  w.clock.setNow(T0 + 16 * DAY_MS)
  const m = w.manager()
  await m.settle()
  w.clock.setNow(T0 + 16 * DAY_MS + HOUR_MS)
  await m.settle()
  m.writes.length = 0
  return { w, m }
}

function managerOf(
  clock: ManualClock,
  api: Api,
  generationOf: (kid: string) => number,
  given: Partial<Circumstances>,
): Manager {
  const circumstances: Circumstances = {
    algorithm: 'ES256',
    tokenMaxTtlMs: DAY_MS,
    lastExpMs: () => null,
    ...given,
  }
  const stores = {
    secrets: new Store(fullObject<Secret>),
    records: new Store(fullObject<ConfigMap>),
  }
  const { log, lines } = memoryLog()
  const writes: string[] = []
  const told: ObjectEvent[] = []
  const line: Line = {}
  const keyring = createKeyring({ ...stores, namespace: 'platform-system', clock, log })
  const step = createReconcile({
    client: api.client(line, writes),
    keyring,
    records: stores.records,
    namespace: 'platform-system',
    get algorithm() {
      return circumstances.algorithm
    },
    get tokenMaxTtlMs() {
      return circumstances.tokenMaxTtlMs
    },
    lastExpMs: (kid) => circumstances.lastExpMs(kid),
    events: {
      record: (event) => void told.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    clock,
    log,
  })
  const sync = (): void => {
    refill(
      stores.secrets,
      [...api.secrets.values()].filter(({ type }) => type === SIGNING_KEY_TYPE),
    )
    refill(stores.records, [...api.maps.values()])
  }
  const settle = async (): Promise<number> => {
    for (let round = 0; round < 50; round += 1) {
      sync()
      const outcome = await unlessConflict(step())
      if (outcome.result === 'later' && outcome.atMs > clock.nowMs()) return outcome.atMs
    }
    throw new Error(`no rest: ${writes.slice(-6).join(', ')}`)
  }
  const signs = (): number | null => {
    const kid = keyring.current()?.kid
    return kid === undefined ? null : generationOf(kid)
  }
  return { keyring, circumstances, writes, told, lines, line, sync, step, settle, signs }
}

function refill(store: StoreSink, objects: readonly KubeObject[]): void {
  store.begin()
  for (const object of objects) store.put(structuredClone(object))
  store.end()
}

/** As the controller does: an old view is no failure. */
async function unlessConflict(reconciled: Promise<Outcome>): Promise<Outcome> {
  try {
    return await reconciled
  } catch (error) {
    if (isConflict(error)) return { result: 'done' }
    throw error
  }
}
