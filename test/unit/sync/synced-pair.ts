// One virtual object, its host object in a second cluster in memory, and the reconcile function between them.
import type { Resource } from '../../../src/api/names.ts'
import { setNestedField } from '../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import { checkSyncConfig } from '../../../src/sync/config/config.ts'
import { TRANSLATORS } from '../../../src/sync/kinds/translators.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../../../src/sync/objects/synced-kinds.ts'
import { createReconcile } from '../../../src/sync/pair/reconcile.ts'
import { SyncReport } from '../../../src/sync/pair/report.ts'
import { PairStates } from '../../../src/sync/pair/state.ts'
import type { KindSettings, TranslationSettings } from '../../../src/sync/pair/translation.ts'
import { type ObjectReference, WITHOUT_CLUSTERS } from '../../../src/sync/patches/reference.ts'
import { WritePace } from '../../../src/sync/writes/write-pace.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { reconcileContext } from '../../support/reconcile-context.ts'
import { countingSandbox } from './counting-sandbox.ts'
import { type MemoryCluster, memoryCluster } from './memory-cluster.ts'
import { memoryEvents, memoryObserver } from './memory-report.ts'
import { cidrs, SINGLE } from './translation.ts'

export const OWNER = { apiVersion: 'v1', kind: 'Service', name: 'vc', uid: 'o1' }
export const KEY = 'shop/web'
const NAME = { name: 'web', namespace: 'shop' }

export interface PairOptions {
  readonly patches?: readonly object[]
  readonly isEnabled?: boolean
  /** Values that expressions read as `context.virtualCluster.config`. */
  readonly config?: JsonMap
}

/** A kind between two clusters. */
export function syncedPair(kind: SyncedKind, options: PairOptions = {}) {
  const resource: Resource = SYNCED_RESOURCES[kind]
  const toHost = { [kind]: { patches: options.patches ?? [] } }
  const { config, faults } = checkSyncConfig({ ...options.config, sync: { toHost } })
  if (config === null) throw new Error(faults.join('; '))
  const virtual = memoryCluster(resource.kind, 'v')
  const host = memoryCluster(resource.kind, 'h')
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const { log, lines } = memoryLog()
  const { events, recorder } = memoryEvents()
  const { counts, observer } = memoryObserver()
  const states = new PairStates()
  const report = new SyncReport({
    kind: resource.kind,
    patches: config.kinds[kind].patches,
    reported: new Map(),
    states,
    events: recorder,
    observer,
    clock,
  })
  const sandbox = countingSandbox()
  const lookups = {
    ...WITHOUT_CLUSTERS,
    virtualNameOf: ({ name }: ObjectReference) =>
      name === 'creds-x-shop-x-vc' ? { name: 'creds', namespace: 'shop' } : null,
    end: () => Promise.resolve('complete' as const),
  }
  const settings: KindSettings = {
    kind: resource.kind,
    translator: TRANSLATORS[kind],
    patches: config.kinds[kind].patches,
    context: {
      place: SINGLE,
      hasService: () => false,
      ownsHostService: () => false,
    },
    addresses: { denied: cidrs('10.66.0.0/16'), allowedExternal: [] },
    config: config.withDefaults,
  }
  const translation: TranslationSettings = {
    ...settings,
    choosesIpFamilies: false,
    owner: OWNER,
    lookups,
  }
  const world = {
    isOpen: true,
    isGivenUp: false,
    mayCreate: true,
    isWanted: true,
    isLeftover: false,
    settings,
    translation,
  }
  const released: string[] = []
  const reconcilePair = createReconcile({
    resource,
    translator: TRANSLATORS[kind],
    virtual: { client: virtual.client, objects: virtual.cache, pace: new WritePace(clock) },
    host: { client: host.client, objects: host.cache, pace: new WritePace(clock) },
    settings,
    owner: () => OWNER,
    lookups: { begin: () => lookups, drop: () => undefined },
    scope: {
      isEnabled: options.isEnabled ?? true,
      isWanted: () => world.isWanted,
      isReserved: ({ name }) => name === 'kubernetes',
      isLeftover: () => world.isLeftover,
      isOpen: () => world.isOpen,
      isGivenUp: () => world.isGivenUp,
      mayCreate: () => world.mayCreate,
      release: (key) => void released.push(key),
    },
    evaluate: sandbox.evaluate,
    states,
    report,
    clock,
  })
  const reconcile = (key: string) => reconcilePair(key, reconcileContext(log))
  const writesOf = ({ writes }: MemoryCluster): readonly string[] =>
    writes.map(({ verb, reason }) => `${verb} ${reason}`)
  return {
    virtual,
    host,
    world,
    states,
    clock,
    events,
    counts,
    lines,
    report,
    released,
    sandbox,
    reconcile,
    /** The names of writes since the last call. */
    writes: () => {
      const all = {
        virtual: writesOf(virtual),
        host: writesOf(host),
      }
      virtual.writes.length = 0
      host.writes.length = 0
      return all
    },
    /** Reconciles until nothing is written; it must come to rest. */
    settle: async (key = KEY): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        const before = virtual.writes.length + host.writes.length
        const outcome = await reconcile(key)
        // A change of the other side that waits for those that may come within the same second.
        const waitMs = outcome.result === 'later' ? outcome.atMs - clock.nowMs() : 0
        if (waitMs > 0 && waitMs <= 1000) {
          await clock.advance(waitMs)
          continue
        }
        if (virtual.writes.length + host.writes.length === before) return
      }
      throw new Error(`no rest: ${JSON.stringify([writesOf(virtual), writesOf(host)])}`)
    },
    atHost: () => host.get(HOST),
    atVirtual: () => virtual.get(NAME),
  }
}

/** The virtual object of a kind. */
export const webOf = (kind: SyncedKind, fields: JsonMap = {}, metadata: JsonMap = {}): JsonMap => ({
  apiVersion: 'v1',
  kind: SYNCED_RESOURCES[kind].kind,
  metadata: { ...NAME, ...metadata },
  ...fields,
})

/** Nothing is written. */
export const NO_WRITES = { virtual: [], host: [] }

/** The name of the host object. */
export const HOST = { name: 'web-x-shop-x-vc', namespace: 'host' }
export const SUBSETS = [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }]
/** The virtual Endpoints. */
export const endpoints = (
  fields: JsonMap = { subsets: SUBSETS },
  metadata: JsonMap = {},
): JsonMap => webOf('endpoints', fields, metadata)
/** An object of another user under the name of the host object. */
export const foreign: JsonMap = { apiVersion: 'v1', kind: 'Endpoints', metadata: HOST, subsets: [] }
/** The object with another value in a field. */
export const withField =
  (path: readonly string[], value: JsonMap | string) => (host: JsonMap | null) =>
    setNestedField(host ?? {}, path, value)

/** A pair that is in step. */
export async function inStep(
  kind: SyncedKind = 'endpoints',
  object: JsonMap = endpoints(),
  options: PairOptions = {},
) {
  const pair = syncedPair(kind, options)
  pair.virtual.put(object)
  await pair.settle()
  // What changes from now on is no part of the first write.
  await pair.clock.advance(1000)
  pair.writes()
  pair.events.length = 0
  pair.counts.length = 0
  return pair
}
