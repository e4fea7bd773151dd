// The controllers of endpoint sync between two clusters in memory, with the informers that they have in the product.
import type { Resource } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { nestedMap, nestedString } from '../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import type { KubeClient, ListQuery } from '../../../src/kube/client/client.ts'
import type { InformerFactory } from '../../../src/kube/informer/informers.ts'
import { objectKey, type StoreSink } from '../../../src/kube/informer/store.ts'
import { checkSyncConfig } from '../../../src/sync/config/config.ts'
import { followImports } from '../../../src/sync/imports/follow.ts'
import { namespaceMarks } from '../../../src/sync/namespaces/marks.ts'
import type { HostPlace } from '../../../src/sync/objects/host-name.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../../../src/sync/objects/synced-kinds.ts'
import { noReportedFailures } from '../../../src/sync/pair/report.ts'
import { syncController } from '../../../src/sync/pair/setup.ts'
import { followReferences } from '../../../src/sync/references/follow.ts'
import { startSources } from '../../../src/sync/sources.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { countingSandbox } from './counting-sandbox.ts'
import { memoryEvents, memoryObserver } from './memory-report.ts'
import { contextIn } from '../../support/reconcile-context.ts'

interface PlayedInformer {
  readonly plural: string
  readonly query: ListQuery
  readonly sink: StoreSink
}

/** A cluster whose informers have read it as soon as they are started, and get each change at once. */
function playedCluster(prefix: string) {
  const objects = new Map<string, { readonly plural: string; readonly object: KubeObject }>()
  let informers: readonly PlayedInformer[] = []
  let versions = 0
  const textOf = (plural: string, { namespace, name }: KubeObject['metadata']): string =>
    `${plural} ${objectKey(namespace === undefined ? { name } : { name, namespace })}`
  const sees = (informer: PlayedInformer, plural: string, { metadata }: KubeObject): boolean =>
    informer.plural === plural &&
    (informer.query.namespace ?? metadata.namespace) === metadata.namespace &&
    (informer.query.fieldSelector ?? `metadata.name=${metadata.name}`) ===
      `metadata.name=${metadata.name}`
  const startInformer: InformerFactory['startInformer'] = ({ plural }, sink, query) => {
    const informer = { plural, query, sink }
    informers = [...informers, informer]
    sink.begin()
    for (const one of objects.values())
      if (sees(informer, one.plural, one.object)) sink.put(one.object)
    sink.end()
    return {
      relist: () => undefined,
      stop: () => {
        informers = informers.filter((one) => one !== informer)
      },
    }
  }
  const put = ({ plural, kind }: Resource, given: JsonMap): KubeObject => {
    versions += 1
    const metadata = {
      uid: `${prefix}-${nestedString(given, ['metadata', 'name'])}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...nestedMap(given, ['metadata']),
      resourceVersion: String(versions),
    }
    const object = { apiVersion: 'v1', kind, ...given, metadata } as unknown as KubeObject
    objects.set(textOf(plural, object.metadata), { plural, object })
    for (const one of informers) if (sees(one, plural, object)) one.sink.put(object)
    return object
  }
  const remove = ({ plural }: Resource, ref: { namespace?: string; name: string }): void => {
    const text = textOf(plural, ref as KubeObject['metadata'])
    const found = objects.get(text)
    objects.delete(text)
    versions += 1
    if (found === undefined) return
    const metadata = { ...found.object.metadata, resourceVersion: String(versions) }
    const gone = { ...found.object, metadata }
    for (const one of informers) if (sees(one, plural, gone)) one.sink.remove(gone)
  }
  let refusal: Error | null = null
  const unlessRefused = <T>(write: () => T): Promise<T> =>
    refusal === null ? Promise.resolve(write()) : Promise.reject(refusal)
  const client = {
    create: (resource: Resource, object: JsonMap) => unlessRefused(() => put(resource, object)),
    replace: (resource: Resource, object: JsonMap) => unlessRefused(() => put(resource, object)),
    delete: (resource: Resource, ref: { namespace: string; name: string }) =>
      unlessRefused(() => remove(resource, ref)),
  } as unknown as KubeClient
  return {
    client,
    startInformer,
    put,
    remove,
    /** Refuses each write of the client from now on; null = none. */
    refuse: (error: Error | null): void => void (refusal = error),
    get: ({ plural }: Resource, key: string): JsonMap | null =>
      (objects.get(`${plural} ${key}`)?.object ?? null) as unknown as JsonMap | null,
    /** The single objects of a kind that are watched. */
    watched: ({ plural }: Resource): readonly string[] =>
      informers
        .filter((one) => one.plural === plural && one.query.fieldSelector !== undefined)
        .map(({ query }) => `${query.namespace}/${query.fieldSelector?.split('=')[1]}`)
        .toSorted(),
  }
}

/**
 * @param toHost the configuration below `sync.toHost`
 * @param role a standby only reads until it leads
 */
export function setupWorld(toHost: object, role: 'leader' | 'standby' = 'leader') {
  const { config, faults } = checkSyncConfig({ sync: { toHost } })
  if (config === null) throw new Error(faults.join('; '))
  const { namespaces } = config
  const place: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces }
  const [virtual, host] = [playedCluster('v'), playedCluster('h')]
  const { log, lines } = memoryLog()
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const sources = startSources(config, place, {
    virtual: virtual.startInformer,
    host: host.startInformer,
    log,
  })
  const references = followReferences(config, place, sources)
  const imports = followImports(place, sources, references)
  const { events, recorder } = memoryEvents()
  const { observer } = memoryObserver()
  const setup = {
    place,
    owner: { current: () => null, isReady: () => true, subscribe: () => undefined },
    addresses: { denied: [], allowedExternal: [] },
    config,
    clients: { virtual: virtual.client, host: host.client },
    sources,
    references,
    imports,
    served: { isServed: () => true, read: () => Promise.resolve() },
    evaluate: countingSandbox().evaluate,
    events: recorder,
    reported: noReportedFailures(),
    observer: () => observer,
    workers: 1,
    clock,
  }
  const queues = new Map<SyncedKind, Set<string>>()
  const controllers = (Object.keys(SYNCED_RESOURCES) as SyncedKind[]).map((kind) => {
    const { spec } = syncController(kind, setup)
    const queue = new Set<string>()
    queues.set(kind, queue)
    const lead = (): void => {
      for (const watch of spec.watches) watch((key) => void queue.add(key))
    }
    const reconcile = (key: string) => spec.reconcile(key, contextIn(spec, key, log))
    return { queue, lead, reconcile }
  })
  const leadAll = (): void => {
    for (const { lead } of controllers) lead()
  }
  if (role === 'leader') leadAll()
  return {
    virtual,
    host,
    references,
    lines,
    /** All Events that were recorded and not taken. */
    events,
    lead: leadAll,
    /** The reasons and notes of Events since the last call. */
    takeEvents: () => events.splice(0).map(({ reason, note }) => `${reason}: ${note}`),
    /** The keys of a kind that wait, without reconciling them. */
    takeQueued: (kind: SyncedKind): readonly string[] => {
      const keys = [...(queues.get(kind) ?? [])]
      queues.get(kind)?.clear()
      return keys
    },
    /** Reconciles until nothing is queued. An error leaves its key to its back-off, which a test does not wait for. */
    settle: async (): Promise<readonly unknown[]> => {
      const errors: unknown[] = []
      for (let round = 0; controllers.some(({ queue }) => queue.size > 0); round += 1) {
        if (round > 20) throw new Error('no rest')
        for (const { queue, reconcile } of controllers) {
          const keys = [...queue]
          queue.clear()
          for (const key of keys) {
            const outcome = await reconcile(key).catch((error: unknown) => void errors.push(error))
            const waitMs = outcome?.result === 'later' ? outcome.atMs - clock.nowMs() : 0
            // A change that waits for those that may come within the same second.
            if (waitMs <= 0 || waitMs > 1000) continue
            await clock.advance(waitMs)
            queue.add(key)
          }
        }
      }
      return errors
    },
    /** The host namespace of a virtual one, with its marks. */
    markedNamespace: (name: string, of: string): JsonMap => ({
      metadata: { name, ...namespaceMarks({ name: of, uid: `v-${of}` }, true, place) },
    }),
  }
}
