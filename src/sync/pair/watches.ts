// From the changes of both clusters to the keys of the pairs that depend on them (contract 18.1, 18.3, 19.5).
import { SERVICES } from '../../api/names.ts'
import { onChange, onSignal, type Watch } from '../../kube/controller/builder.ts'
import { type ObjectSource, objectKey } from '../../kube/informer/store.ts'
import type { ImportStates } from '../imports/follow.ts'
import type { KindScope } from '../kinds/scope.ts'
import { SCOPES } from '../kinds/translators.ts'
import type { HostPlace } from '../objects/host-name.ts'
import { ownerOf } from '../objects/ownership-marks.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { Patch } from '../patches/parse.ts'
import { referencesOf } from '../patches/reference.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { SyncSources } from '../sources.ts'
import type { SyncReport } from './report.ts'
import type { HostOwner } from './scope.ts'
import type { PairStates } from './state.ts'

/** Dependencies of the watches of one kind. */
interface WatchDeps {
  readonly place: HostPlace
  readonly owner: HostOwner
  readonly patches: readonly Patch[]
  readonly sources: SyncSources
  readonly references: ReferencedObjects
  readonly imports: ImportStates
  readonly states: PairStates
  readonly report: SyncReport
}

/** The watches of one kind. At the start all keys are queued. */
export function pairWatches(kind: SyncedKind, deps: WatchDeps): readonly Watch[] {
  const { imports, owner, patches, place, references, sources } = deps
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
  { place, report, sources, states }: WatchDeps,
): readonly Watch[] {
  const changed = (keys: readonly string[]): readonly string[] => {
    for (const key of keys) report.changed(key)
    return keys
  }
  return [
    onChange(sources.virtual[kind], ({ key }) => changed([key])),
    onChange(sources.host[kind], ({ key, before, after }) =>
      changed([
        ...ownersOf([before, after], SYNCED_RESOURCES[kind].kind, place),
        ...states.waitingFor(key),
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
