// Follows the host objects that references could import, and says which names stand for one (contract 19.5).
import { objectKey } from '../../kube/informer/store.ts'
import {
  isImportable,
  isImportOf,
  isMarkedAsImport,
  isUnchangedImport,
} from '../kinds/imported-copy.ts'
import {
  type HostPlace,
  importSourceOf,
  type VirtualName,
  virtualNameOf,
} from '../objects/host-name.ts'
import {
  SYNCED_KINDS,
  SYNCED_RESOURCES,
  type SyncedKind,
  syncedKindOf,
} from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { ObjectReference, Unread } from '../patches/reference.ts'
import type { ReferencedChange, ReferencedObjects } from '../references/follow.ts'
import { ReferenceIndex, type Referrer } from '../references/index-by-name.ts'
import type { SyncSources } from '../sources.ts'

/** A name of the virtual cluster that references name. */
export interface ImportName {
  readonly kind: SyncedKind
  /** As objectKey gives it. */
  readonly key: string
}

/** What is imported, and what could be. */
export interface ImportStates {
  /** As in ReferenceLookups. */
  readonly isImported: (target: ObjectReference) => boolean | Unread
  /** Whether a virtual object is an import: it is never synced, and the controller of imports alone writes it. */
  readonly isImport: (kind: SyncedKind, virtual: SyncedObject) => boolean
  /** A host object by its own name; null = it does not exist. */
  readonly hostObject: (kind: SyncedKind, name: VirtualName) => SyncedObject | null | Unread
  /** Replaces the host objects that are read for a referrer beside those that could be imported. */
  readonly readFor: (referrer: Referrer, hosts: readonly ObjectReference[]) => void
  /** All names that references name. */
  readonly names: () => readonly ImportName[]
  /** The names that stand for this host object, if it is imported. @param hostKey as objectKey gives it */
  readonly namesOf: (kind: SyncedKind, hostKey: string) => readonly ImportName[]
  /** Tells of objects whose translation may be another one now. */
  readonly subscribe: (listener: (change: ReferencedChange) => void) => void
}

/** Follows the imports of all references. Call it before the sources have read anything. */
export function followImports(
  place: HostPlace,
  sources: SyncSources,
  references: ReferencedObjects,
): ImportStates {
  const look = lookUps(place, sources)
  const listeners: ((change: ReferencedChange) => void)[] = []
  const emit = (kind: SyncedKind, key: string): void => {
    for (const listener of listeners) listener({ kind, key })
  }
  const emitReferrers = (referrers: readonly Referrer[]): void => {
    for (const { kind, key } of referrers) {
      const synced = syncedKindOf(kind)
      if (synced !== null) emit(synced, key)
    }
  }
  const candidates = wantedCandidates(sources)
  const states = new Map<string, ImportName & { readonly state: boolean | Unread }>()
  const refresh = ({ kind, key }: ImportName): void => {
    const text = `${kind}/${key}`
    const before = states.get(text)
    if (before === undefined) return
    const state = look.isImported(referenceTo({ kind, key }))
    if (before.state === state) return
    states.set(text, { kind, key, state })
    emit(kind, key)
    emitReferrers(references.referrersOf(kind, key))
  }
  references.subscribe((name) => {
    const isReferenced = references.isReferenced(name.kind, name.key)
    const text = `${name.kind}/${name.key}`
    const target = referenceTo(name)
    const source = { ...target, ...importSourceOf(target, place) }
    candidates.sources.set({ kind: target.kind, key: name.key }, isReferenced ? [source] : [])
    if (isReferenced) states.set(text, { ...name, state: look.isImported(target) })
    else states.delete(text)
  })
  const namesOf = (kind: SyncedKind, hostKey: string): readonly ImportName[] =>
    candidates.sources
      .referrersOf(SYNCED_RESOURCES[kind].kind, hostKey)
      .map(({ key }) => ({ kind, key }))
  sources.access.subscribe((namespace) => {
    for (const name of states.values())
      if (virtualNameOf(name.key).namespace === namespace) refresh(name)
  })
  for (const kind of SYNCED_KINDS) {
    const [virtual, candidate] = [sources.virtual[kind], sources.candidates[kind]]
    virtual.subscribe(({ key }) => refresh({ kind, key }))
    candidate.subscribe(({ key }) => {
      for (const name of namesOf(kind, key)) refresh(name)
      emitReferrers(candidates.asked.referrersOf(SYNCED_RESOURCES[kind].kind, key))
    })
    // Objects that are read while their store is not complete are unread until it is.
    for (const source of [virtual, candidate])
      source.whenSynced(() => {
        for (const name of states.values()) if (name.kind === kind) refresh(name)
      })
  }
  return {
    isImported: look.isImported,
    hostObject: look.hostObject,
    isImport: (kind, { name, namespace, object }) => {
      if (!isMarkedAsImport(object)) return false
      const key = objectKey({ name, namespace })
      const state = look.isImported(referenceTo({ kind, key }))
      if (state === 'unread' && references.isReferenced(kind, key)) return true
      return state === true || isUnchangedImport(kind, object)
    },
    readFor: (referrer, hosts) => candidates.asked.set(referrer, hosts),
    names: () => [...states.values()],
    namesOf,
    subscribe: (listener) => void listeners.push(listener),
  }
}

function lookUps(
  place: HostPlace,
  { host, virtual, candidates, access }: SyncSources,
): Pick<ImportStates, 'isImported' | 'hostObject'> {
  return {
    isImported: (target) => {
      const kind = target.apiVersion === 'v1' ? syncedKindOf(target.kind) : null
      // What is not open is not read: nothing waits for it.
      if (kind === null || !access.isOpen(target.namespace)) return false
      const source = importSourceOf(target, place)
      if (!candidates[kind].isSynced(source)) return 'unread'
      const found = candidates[kind].getByKey(objectKey(source))
      if (!found || !isImportable(found.object, place.virtualCluster)) return false
      if (!virtual[kind].isSynced(target)) return 'unread'
      const copy = virtual[kind].getByKey(objectKey(target))
      return copy === undefined || isImportOf(kind, copy.object, found.object)
    },
    hostObject: (kind, name) => {
      const source = [host[kind], candidates[kind]].find((one) => one.isSynced(name))
      return source ? (source.getByKey(objectKey(name)) ?? null) : 'unread'
    },
  }
}

/** The host objects that are read by their own names: sources of imports, and what referrers have asked for. */
function wantedCandidates({ candidates }: SyncSources): {
  /** The host object for each name, which is the referrer here. */
  readonly sources: ReferenceIndex
  readonly asked: ReferenceIndex
} {
  const wanted = { sources: new ReferenceIndex(), asked: new ReferenceIndex() }
  const indexes = Object.values(wanted)
  for (const index of indexes)
    index.subscribe(({ target }) => {
      const kind = syncedKindOf(target.kind)
      if (kind === null) return
      const { name, namespace } = target
      const isWanted = indexes.some((one) => one.isReferenced(target.kind, objectKey(target)))
      if (isWanted) candidates[kind].want({ name, namespace })
      else candidates[kind].release({ name, namespace })
    })
  return wanted
}

/** The name as a reference has it. */
const referenceTo = ({ kind, key }: ImportName): ObjectReference => ({
  apiVersion: 'v1',
  kind: SYNCED_RESOURCES[kind].kind,
  ...virtualNameOf(key),
})
