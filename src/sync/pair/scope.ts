// Which pairs of one kind are synced, by the configuration and by the objects of both clusters (contract 16.2, 16.3), and
// the watches that queue a pair when that may have changed (contract 18.1, 18.3, 19.5): a new fact needs its watch.

import { SERVICES } from '../../api/names.ts'
import type { OwnerReference } from '../../api/objects.ts'
import { onChange, onSignal, type Watch } from '../../kube/controller/builder.ts'
import { type ObjectSource, objectKey } from '../../kube/informer/store.ts'
import type { SyncConfig } from '../config/config.ts'
import type { ImportStates } from '../imports/follow.ts'
import type { KindScope, SyncScopeFacts } from '../kinds/scope.ts'
import type { TranslationContext } from '../kinds/translator.ts'
import { SCOPES } from '../kinds/translators.ts'
import {
  type HostPlace,
  hostNameOf,
  type VirtualName,
  virtualNameOf,
} from '../objects/host-name.ts'
import { ownerOf } from '../objects/host-metadata.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { Patch } from '../patches/parse.ts'
import { referencesOf } from '../patches/reference.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { SyncSources } from '../sources.ts'

/** The owner of host objects. */
export interface HostOwner {
  /** The virtual cluster's own Service; null = none was named, or it does not exist, and no host object is created. */
  readonly current: () => OwnerReference | null
  /** Whether new host objects may be created: without their owner nothing would clean them up. */
  readonly isReady: () => boolean
  readonly subscribe: (listener: () => void) => void
}

/** Which pairs of one kind are synced. A key is the key of the virtual object. */
export interface PairScope {
  /** Whether the kind is enabled. */
  readonly isEnabled: boolean
  /** Whether this virtual namespace has a host namespace; its keys are queued when that changes. */
  isOpen(virtualNamespace: string): boolean
  /** Whether the object is never read: it waits for a place among the watched objects, and no reference names it any more. */
  isGivenUp(key: string): boolean
  /** As in KindScope. */
  isReserved(virtual: SyncedObject): boolean
  /** Whether the virtual object is to stand on the host. */
  isWanted(virtual: SyncedObject): boolean
  /** As in KindScope, of a foreign host object. */
  isLeftover(host: SyncedObject): boolean
  /** Whether its host object may be created now; the key is queued when that changes. */
  mayCreate(virtual: SyncedObject): boolean
  /** Ends reading a pair that has no object on either side, or is not synced any more. */
  release(key: string): void
}

/** Dependencies of the scope of one kind. */
export interface ScopeDeps {
  readonly place: HostPlace
  readonly owner: HostOwner
  readonly config: SyncConfig
  readonly sources: SyncSources
  readonly references: ReferencedObjects
  readonly imports: ImportStates
}

/** Creates the scope of one kind. */
export function pairScope(kind: SyncedKind, deps: ScopeDeps): PairScope {
  const { config, imports, owner, place, references, sources } = deps
  const { access } = sources
  const [virtual, host] = [sources.virtual[kind], sources.host[kind]]
  const rules = SCOPES[kind]
  const facts = scopeFacts(kind, deps)
  return {
    isEnabled: config.kinds[kind].enabled,
    isOpen: access.isOpen,
    isGivenUp: (key) => {
      if (references.isReferenced(kind, key)) return false
      const name = virtualNameOf(key)
      return virtual.isWaiting(name) || host.isWaiting(hostNameOf(name, place))
    },
    isReserved: rules.isReserved,
    isWanted: (object) => !imports.isImport(kind, object) && rules.isWanted(object, facts),
    isLeftover: (object) => rules.isLeftover(object, facts),
    mayCreate: ({ namespace }) => owner.isReady() && access.mayCreateIn(namespace),
    release: (key) => {
      const object = virtual.getByKey(key)
      // An import is read until its controller has deleted it.
      const isImport = object !== undefined && imports.isImport(kind, object)
      if (!isImport && !references.isReferenced(kind, key)) references.release(kind, key)
    },
  }
}

function scopeFacts(kind: SyncedKind, { config, imports, place, references, sources }: ScopeDeps) {
  const facts: SyncScopeFacts = {
    isAll: config.kinds[kind].all,
    isReferenced: (virtual) => references.isReferenced(kind, objectKey(virtual)),
    virtualService: (name) => virtualService(name, sources, imports),
    ownHostService: (name) => ownHostService(name, sources, place),
  }
  return facts
}

/** The Services of both clusters, for translations. */
export const serviceContext = ({
  config,
  imports,
  place,
  sources,
}: ScopeDeps): Pick<TranslationContext, 'hasService' | 'ownsHostService'> => ({
  // Without a host namespace it is not synced: its name there can belong to another tenant.
  hasService: (name) =>
    config.kinds.services.enabled &&
    sources.access.isOpen(name.namespace) &&
    virtualService(name, sources, imports) !== null,
  ownsHostService: (name) =>
    ownHostService(name, sources, place) !== null || sources.hasVirtualServiceFor(name),
})

function virtualService(
  name: VirtualName,
  { virtual }: SyncSources,
  imports: ImportStates,
): SyncedObject | null {
  const service = virtual.services.getByKey(objectKey(name))
  return service !== undefined && !imports.isImport('services', service) ? service : null
}

function ownHostService(
  name: VirtualName,
  { host }: SyncSources,
  place: HostPlace,
): SyncedObject | null {
  const service = host.services.getByKey(objectKey(name))
  const isOurs = service !== undefined && ownerOf(service.object, SERVICES.kind, place) !== null
  return isOurs ? service : null
}

/** Dependencies of the watches of one kind. */
interface WatchDeps extends ScopeDeps {
  /** Called when an object of the pair has changed. */
  readonly changed: (key: string) => void
  /** The keys of the pairs that wait for the name of this host object. */
  readonly waitingFor: (hostKey: string) => readonly string[]
}

/** The watches of one kind. At the start all keys are queued. */
export function pairWatches(kind: SyncedKind, deps: WatchDeps): readonly Watch[] {
  const { config, imports, owner, place, references, sources } = deps
  const { patches } = config.kinds[kind]
  const [virtual, host] = [sources.virtual[kind], sources.host[kind]]
  const named = SYNCED_RESOURCES[kind].kind
  const all = (): readonly string[] => [
    ...[...virtual.values()].map(objectKey),
    ...ownersOf(host.values(), named, place),
    // Objects that lost their last reference while another replica led are still to be released.
    ...references.held(kind),
  ]
  return [
    ...objectWatches(kind, deps),
    ...[references, imports].map((source) =>
      onSignal(source, (change) => (change.kind === kind ? [change.key] : [])),
    ),
    onSignal(owner, all),
    ...[sources.access.subscribe, host.subscribeRead].map((subscribe) =>
      onSignal({ subscribe }, (namespace) => keysIn(namespace, virtual)),
    ),
    ...followedWatches(SCOPES[kind].follows, sources, place),
    ...(patches.some(namesNamespaces) ? [namespaceWatch(virtual, patches, sources)] : []),
    (enqueue) => {
      for (const key of all()) enqueue(key, 'resync')
    },
  ]
}

/** Changes of the objects of the pairs themselves, which begin the lag. */
function objectWatches(
  kind: SyncedKind,
  { changed, place, sources, waitingFor }: WatchDeps,
): readonly Watch[] {
  const withChange = (keys: readonly string[]): readonly string[] => {
    for (const key of keys) changed(key)
    return keys
  }
  return [
    onChange(sources.virtual[kind], ({ key }) => withChange([key])),
    onChange(sources.host[kind], ({ key, before, after }) =>
      withChange([
        ...ownersOf([before, after], SYNCED_RESOURCES[kind].kind, place),
        ...waitingFor(key),
      ]),
    ),
  ]
}

const keysIn = (namespace: string, objects: ObjectSource<SyncedObject>): readonly string[] =>
  [...objects.values()].filter((object) => object.namespace === namespace).map(objectKey)

/** The keys of the virtual objects that the marks of these host objects name. */
const ownersOf = (
  objects: Iterable<SyncedObject | undefined>,
  kind: string,
  place: HostPlace,
): readonly string[] =>
  [...objects].flatMap((object) => {
    const owner = object && ownerOf(object.object, kind, place)
    return owner ? [objectKey(owner)] : []
  })

/** Changes of other objects, as KindScope says. */
function followedWatches(
  follows: KindScope['follows'],
  { access, externalNames, host, virtual }: SyncSources,
  place: HostPlace,
): readonly Watch[] {
  switch (follows) {
    case 'services':
      return [
        onChange(virtual.services),
        onChange(host.services, ({ before, after }) =>
          ownersOf([before, after], SERVICES.kind, place),
        ),
      ]
    case 'externalNames':
      return [
        onChange(virtual.services, ({ before, after }) =>
          (before === undefined) === (after === undefined) ? [] : externalNames().map(objectKey),
        ),
        onSignal(access, () => externalNames().map(objectKey)),
      ]
    case null:
      return []
    default:
      return follows satisfies never
  }
}

const namesNamespaces = (patch: Patch): boolean =>
  patch.kind === 'reference' && patch.reference.namespacePath !== null

/** A new or deleted host namespace changes whether references may lead into it (contract 19.5). */
const namespaceWatch = (
  virtual: ObjectSource<SyncedObject>,
  patches: readonly Patch[],
  { access }: SyncSources,
): Watch =>
  onSignal(access, (namespace) =>
    [...virtual.values()]
      .filter(({ object }) =>
        referencesOf(object, patches).references.some((named) => named.namespace === namespace),
      )
      .map(objectKey),
  )
