// Follows the references of virtual objects, and reads the Secrets and ConfigMaps that they name (contract 16.2, 19.5).
import { objectKey } from '../../kube/informer/store.ts'
import type { SyncConfig } from '../config/config.ts'
import { isUnchangedImport } from '../kinds/imported-copy.ts'
import { type HostPlace, hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { isSkipped } from '../objects/host-metadata.ts'
import {
  SYNCED_KINDS,
  SYNCED_RESOURCES,
  type SyncedKind,
  syncedKindOf,
} from '../objects/synced-kinds.ts'
import { isTerminating } from '../objects/synced-object.ts'
import { type ObjectReference, referencesOf } from '../patches/reference.ts'
import { isReadWhole, type SyncSources } from '../sources.ts'
import { ReferenceIndex, type Referrer } from './index-by-name.ts'

/** A synced object that has its first reference, or has lost its last one. */
export interface ReferencedChange {
  readonly kind: SyncedKind
  /** As objectKey gives it, in the virtual cluster. */
  readonly key: string
}

/** The objects that virtual objects refer to. */
export interface ReferencedObjects {
  readonly isReferenced: (kind: SyncedKind, key: string) => boolean
  /** The objects that refer to this one. */
  readonly referrersOf: (kind: SyncedKind, key: string) => readonly Referrer[]
  readonly subscribe: (listener: (change: ReferencedChange) => void) => void
  /** The keys of objects that references named and that are not released yet, even if none names them any more. */
  readonly held: (kind: SyncedKind) => readonly string[]
  /** Replaces the objects that the referrer will name in addition, once the fields that flow back are written. */
  readonly alsoNames: (referrer: Referrer, references: readonly ObjectReference[]) => void
  /**
   * Ends reading an object on both sides, and forgets what it names. The host object is read on while another object has
   * the same name there. Call it when nothing refers to it and the host object is gone, or is not read.
   */
  readonly release: (kind: SyncedKind, key: string) => void
}

/**
 * Follows the references of all virtual objects whose kind has reference patches. Call it before the informers of the
 * sources have read anything: it learns from their changes.
 */
export function followReferences(
  { kinds }: SyncConfig,
  place: HostPlace,
  { virtual, host }: Pick<SyncSources, 'virtual' | 'host'>,
): ReferencedObjects {
  const index = new ReferenceIndex()
  /** The name on the host that is read for each name here, which is the referrer: two may have one (contract 17.1). */
  const hostNames = new ReferenceIndex()
  hostNames.subscribe(({ target: { kind: named, name, namespace }, isReferenced }) => {
    const kind = syncedKindOf(named)
    if (kind === null) return
    if (isReferenced) host[kind].want({ name, namespace })
    else host[kind].release({ name, namespace })
  })
  const held = new Map<SyncedKind, Set<string>>(SYNCED_KINDS.map((kind) => [kind, new Set()]))
  const listeners: ((change: ReferencedChange) => void)[] = []
  const setNamed = namedByReferrer(index)
  index.subscribe(({ target, isReferenced }) => {
    const kind = syncedKindOf(target.kind)
    if (kind === null) return
    const key = objectKey(target)
    if (isReferenced) {
      held.get(kind)?.add(key)
      virtual[kind].want(target)
      hostNames.set({ kind: target.kind, key }, [{ ...target, ...hostNameOf(target, place) }])
    }
    for (const listener of listeners) listener({ kind, key })
  })
  for (const kind of SYNCED_KINDS) {
    const { patches } = kinds[kind]
    if (!patches.some((patch) => patch.kind === 'reference')) continue
    virtual[kind].subscribe(({ key, after }) => {
      const isFollowed =
        after &&
        !isTerminating(after) &&
        !isSkipped(after.object) &&
        !isUnchangedImport(kind, after.object)
      const references: readonly ObjectReference[] = isFollowed
        ? referencesOf(after.object, patches).references
        : []
      setNamed({ kind: SYNCED_RESOURCES[kind].kind, key }, { now: references })
    })
  }
  return {
    isReferenced: (kind, key) => index.isReferenced(SYNCED_RESOURCES[kind].kind, key),
    referrersOf: (kind, key) => index.referrersOf(SYNCED_RESOURCES[kind].kind, key),
    subscribe: (listener) => void listeners.push(listener),
    held: (kind) => [...(held.get(kind) ?? [])],
    alsoNames: (referrer, soon) => setNamed(referrer, { soon }),
    release: (kind, key) => {
      const referrer = { kind: SYNCED_RESOURCES[kind].kind, key }
      held.get(kind)?.delete(key)
      virtual[kind].release(virtualNameOf(key))
      hostNames.remove(referrer)
      // The end of its watch is not a change, and only changes update the references.
      if (!isReadWhole(kind, kinds)) setNamed(referrer, { now: [] })
    },
  }
}

type Names = Readonly<Record<'now' | 'soon', readonly ObjectReference[]>>

const NAMES_NOTHING: Names = { now: [], soon: [] }

/** Keeps what each referrer names now and soon, and its part of the index equal to both. */
function namedByReferrer(
  index: ReferenceIndex,
): (referrer: Referrer, change: Partial<Names>) => void {
  const named = new Map<string, Names>()
  return (referrer, change) => {
    const text = JSON.stringify([referrer.kind, referrer.key])
    const before = named.get(text) ?? NAMES_NOTHING
    const next = { ...before, ...change }
    if (next.now.length === 0 && next.soon.length === 0) named.delete(text)
    else named.set(text, next)
    const isNothing = [...before.now, ...before.soon, ...next.now, ...next.soon].length === 0
    if (!isNothing) index.set(referrer, [...next.now, ...next.soon])
  }
}
