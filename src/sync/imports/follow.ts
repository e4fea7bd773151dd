// Follows the host objects that references could import, and which names of the virtual cluster import one (contract 19.5).
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
import { type ImportName, importKey } from './name.ts'

/** The imports of all references, and the host objects that could be imported. */
export interface ImportStates {
  /** As in ReferenceLookups. */
  isImported(target: ObjectReference): boolean | Unread
  /** Whether a virtual object is an import: it is never synced, and the controller of imports alone writes it. */
  isImport(kind: SyncedKind, virtual: SyncedObject): boolean
  /** A host object by its own name; null = it does not exist. */
  hostObject(kind: SyncedKind, name: VirtualName): SyncedObject | null | Unread
  /** Replaces the host objects that are read for a referrer's look-ups. */
  readFor(referrer: Referrer, hosts: readonly ObjectReference[]): void
  /** All names that references name. */
  names(): readonly ImportName[]
  /** The names under which this host object is imported. @param hostKey as objectKey gives it */
  namesOf(kind: SyncedKind, hostKey: string): readonly ImportName[]
  /** Calls back with each object whose translation may have changed. */
  subscribe(listener: (change: ReferencedChange) => void): void
}

/** Follows the imports of all references. Call it before the sources have read anything. */
export const followImports = (
  place: HostPlace,
  sources: SyncSources,
  references: ReferencedObjects,
): ImportStates => new FollowedImports(place, sources, references)

class FollowedImports implements ImportStates {
  readonly #place: HostPlace
  readonly #sources: SyncSources
  readonly #references: ReferencedObjects
  readonly #candidates: WantedCandidates
  readonly #listeners: ((change: ReferencedChange) => void)[] = []
  /** The names that references name, by importKey, with the last state that listeners have got. */
  readonly #states = new Map<string, ImportName & { readonly state: boolean | Unread }>()

  constructor(place: HostPlace, sources: SyncSources, references: ReferencedObjects) {
    this.#place = place
    this.#sources = sources
    this.#references = references
    this.#candidates = wantedCandidates(sources)
    references.subscribe((name) => this.#follow(name))
    sources.access.subscribe((namespace) =>
      this.#refreshAll(({ key }) => virtualNameOf(key).namespace === namespace),
    )
    for (const kind of SYNCED_KINDS) this.#followObjects(kind)
  }

  isImported(target: ObjectReference): boolean | Unread {
    const { access, candidates, virtual } = this.#sources
    const kind = target.apiVersion === 'v1' ? syncedKindOf(target.kind) : null
    // A namespace that is not open is not read: nothing waits for it.
    if (kind === null || !access.isOpen(target.namespace)) return false
    const source = importSourceOf(target, this.#place)
    if (!candidates[kind].isSynced(source)) return 'unread'
    const found = candidates[kind].getByKey(objectKey(source))
    if (!found || !isImportable(found.object, this.#place.virtualCluster)) return false
    if (!virtual[kind].isSynced(target)) return 'unread'
    const copy = virtual[kind].getByKey(objectKey(target))
    return copy === undefined || isImportOf(kind, copy.object, found.object)
  }

  isImport(kind: SyncedKind, { name, namespace, object }: SyncedObject): boolean {
    if (!isMarkedAsImport(object)) return false
    const key = objectKey({ name, namespace })
    const state = this.isImported(referenceTo({ kind, key }))
    if (state === 'unread' && this.#references.isReferenced(kind, key)) return true
    return state === true || isUnchangedImport(kind, object)
  }

  hostObject(kind: SyncedKind, name: VirtualName): SyncedObject | null | Unread {
    const { candidates, host } = this.#sources
    const source = [host[kind], candidates[kind]].find((one) => one.isSynced(name))
    return source ? (source.getByKey(objectKey(name)) ?? null) : 'unread'
  }

  readFor(referrer: Referrer, hosts: readonly ObjectReference[]): void {
    this.#candidates.byReferrer.set(referrer, hosts)
  }

  names(): readonly ImportName[] {
    return [...this.#states.values()]
  }

  namesOf(kind: SyncedKind, hostKey: string): readonly ImportName[] {
    return this.#candidates.bySource
      .referrersOf(SYNCED_RESOURCES[kind].kind, hostKey)
      .map(({ key }) => ({ kind, key }))
  }

  subscribe(listener: (change: ReferencedChange) => void): void {
    this.#listeners.push(listener)
  }

  /** A name has its first reference, or lost its last one. */
  #follow(name: ImportName): void {
    const isReferenced = this.#references.isReferenced(name.kind, name.key)
    const target = referenceTo(name)
    const source = { ...target, ...importSourceOf(target, this.#place) }
    const referrer = { kind: target.kind, key: name.key }
    this.#candidates.bySource.set(referrer, isReferenced ? [source] : [])
    if (isReferenced) this.#states.set(importKey(name), { ...name, state: this.isImported(target) })
    else this.#states.delete(importKey(name))
  }

  #followObjects(kind: SyncedKind): void {
    const [virtual, candidates] = [this.#sources.virtual[kind], this.#sources.candidates[kind]]
    virtual.subscribe(({ key }) => this.#refresh({ kind, key }))
    candidates.subscribe(({ key }) => {
      for (const name of this.namesOf(kind, key)) this.#refresh(name)
      const named = SYNCED_RESOURCES[kind].kind
      this.#emitReferrers(this.#candidates.byReferrer.referrersOf(named, key))
    })
    // An object counts as unread until the store has all objects.
    for (const source of [virtual, candidates])
      source.whenSynced(() => this.#refreshAll((name) => name.kind === kind))
  }

  #refreshAll(isConcerned: (name: ImportName) => boolean): void {
    for (const name of this.#states.values()) if (isConcerned(name)) this.#refresh(name)
  }

  /** Emits the name and its referrers if its state has changed. */
  #refresh({ kind, key }: ImportName): void {
    const text = importKey({ kind, key })
    const before = this.#states.get(text)
    if (before === undefined) return
    const state = this.isImported(referenceTo({ kind, key }))
    if (before.state === state) return
    this.#states.set(text, { kind, key, state })
    this.#emit(kind, key)
    this.#emitReferrers(this.#references.referrersOf(kind, key))
  }

  #emitReferrers(referrers: readonly Referrer[]): void {
    for (const { kind, key } of referrers) {
      const synced = syncedKindOf(kind)
      if (synced !== null) this.#emit(synced, key)
    }
  }

  #emit(kind: SyncedKind, key: string): void {
    for (const listener of this.#listeners) listener({ kind, key })
  }
}

/** The host objects that are read by their own names. */
interface WantedCandidates {
  /** The source of each import; the referrer is the name of the import. */
  readonly bySource: ReferenceIndex
  /** The host objects that referrers have asked for. */
  readonly byReferrer: ReferenceIndex
}

/** Reads the candidates while one of the indexes has them. */
function wantedCandidates({ candidates }: SyncSources): WantedCandidates {
  const wanted = { bySource: new ReferenceIndex(), byReferrer: new ReferenceIndex() }
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

/** The reference to a name. */
const referenceTo = ({ kind, key }: ImportName): ObjectReference => ({
  apiVersion: 'v1',
  kind: SYNCED_RESOURCES[kind].kind,
  ...virtualNameOf(key),
})
