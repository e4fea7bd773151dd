// Both clusters in memory for tests of imports, with sources that a test reads into.
import type { KubeObject } from '../../../src/api/objects.ts'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import type { ObjectRef } from '../../../src/kube/client/client.ts'
import { type StoreChange, objectKey } from '../../../src/kube/informer/store.ts'
import { followImports } from '../../../src/sync/imports/follow.ts'
import { followReferences } from '../../../src/sync/references/follow.ts'
import { checkSyncConfig } from '../../../src/sync/config/config.ts'
import { SYNCED_KINDS, SYNCED_RESOURCES } from '../../../src/sync/objects/synced-kinds.ts'
import type { HostPlace } from '../../../src/sync/objects/host-name.ts'
import {
  type HostAccess,
  type PartialSource,
  SINGLE_NAMESPACE,
} from '../../../src/sync/namespaces/sources.ts'
import type { SyncSources } from '../../../src/sync/sources.ts'
import { type SyncedObject, syncedObject } from '../../../src/sync/objects/synced-object.ts'

export const P = 'vcluster.platform.sh'

/** Single objects of one kind, each unknown until it is read. */
export class MemorySource implements PartialSource {
  readonly wanted = new Set<string>()
  readonly #objects = new Map<string, SyncedObject | null>()
  readonly #listeners: ((change: StoreChange<SyncedObject>) => void)[] = []

  want = (ref: ObjectRef): void => void this.wanted.add(objectKey(ref))
  release = (ref: ObjectRef): void => {
    this.wanted.delete(objectKey(ref))
    this.#objects.delete(objectKey(ref))
  }
  getByKey = (key: string): SyncedObject | undefined => this.#objects.get(key) ?? undefined
  isSynced = (ref: ObjectRef): boolean => this.#objects.has(objectKey(ref))
  values = (): readonly SyncedObject[] => [...this.#objects.values()].flatMap((one) => one ?? [])
  subscribe = (listener: (change: StoreChange<SyncedObject>) => void): void =>
    void this.#listeners.push(listener)
  whenSynced = (callback: () => void): void => callback()
  observe = (object: KubeObject): void =>
    this.read(objectKey(object.metadata), syncedObject('Secret')(object))
  isWaiting = (): boolean => false
  subscribeRead = (): void => undefined

  /** The object is read, as it is or as not there. */
  read(key: string, object: SyncedObject | null): void {
    const before = this.#objects.get(key) ?? undefined
    this.#objects.set(key, object)
    const name = key.split('/')[1] ?? ''
    for (const listener of this.#listeners)
      listener({ key, name, before, after: object ?? undefined, listed: false })
  }
}

const sourcesOf = (): SyncSources['virtual'] & {
  readonly secrets: MemorySource
  readonly endpoints: MemorySource
} => Object.fromEntries(SYNCED_KINDS.map((kind) => [kind, new MemorySource()])) as never

/** An object of a synced kind. */
export const object = (
  kind: 'endpoints' | 'secrets',
  [namespace = '', name = '']: readonly string[],
  metadata: JsonMap,
  fields: JsonMap = {},
): SyncedObject =>
  syncedObject(SYNCED_RESOURCES[kind].kind)({
    metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: '1', ...metadata },
    ...fields,
  } as never)

/** Endpoints `shop/<name>` whose annotations `a` and `b` are references to Secrets. */
export const endpoints = (name: string, annotations: JsonMap): SyncedObject =>
  object('endpoints', ['shop', name], { annotations })

/** A Secret of the host with the label of the virtual cluster, or with that of another one. */
export const labelled = (name: string, virtualCluster = 'vc'): SyncedObject =>
  object('secrets', ['host', name], { labels: { [`${P}/import`]: virtualCluster } })

/** References and imports of the virtual cluster `vc`, whose objects stand in the namespace `host`. */
export function importWorld(access: HostAccess = SINGLE_NAMESPACE) {
  const place: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
  const sources = { virtual: sourcesOf(), host: sourcesOf(), candidates: sourcesOf() }
  const { config } = checkSyncConfig({
    sync: {
      toHost: {
        endpoints: {
          patches: ['a', 'b'].map((key) => ({
            path: `metadata.annotations.${key}`,
            reference: { kind: 'Secret' },
          })),
        },
      },
    },
  })
  if (config === null) throw new Error('the configuration is valid')
  const all: SyncSources = {
    ...sources,
    hasVirtualServiceFor: () => false,
    externalNames: () => [],
    stores: {},
    namespaces: null,
    access,
  }
  const references = followReferences(config, place, all)
  const imports = followImports(place, all, references)
  const changes: string[] = []
  imports.subscribe(({ kind, key }) => changes.push(`${kind} ${key}`))
  return {
    place,
    sources: all,
    references,
    imports,
    virtual: sources.virtual,
    host: sources.host,
    candidates: sources.candidates.secrets,
    /** The objects that are to be translated again, since the last call. */
    takeChanges: (): readonly string[] => changes.splice(0),
  }
}
