// Follows the references of virtual objects, and reads the Secrets and ConfigMaps that they name (contract 16.2, 19.5).
import { objectKey } from '../kube/informer/store.ts'
import { ReferenceIndex, type Referrer } from './reference-index.ts'
import { SYNCED_KINDS, type SyncConfig, type SyncedKind } from './rules/config.ts'
import { type HostPlace, type VirtualName, hostNameOf } from './rules/host-name.ts'
import { isUnchangedImport } from './rules/imports.ts'
import { isSkipped } from './rules/marks.ts'
import { type ObjectReference, referencesOf } from './rules/references.ts'
import { SYNCED_RESOURCES, type SyncSources } from './sources.ts'
import { isTerminating } from './synced-object.ts'

/** A synced object that is named for the first time, or not any more. */
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
  /** Replaces the objects that the referrer will name besides those that it names, when what flows back is written. */
  readonly alsoNames: (referrer: Referrer, references: readonly ObjectReference[]) => void
  /** Ends reading an object on both sides. Call it when nothing refers to it and the host object is gone. */
  readonly release: (kind: SyncedKind, key: string) => void
}

/** The synced kind of a kind as in manifests; null = it is not synced. */
export const syncedKindOf = (kind: string): SyncedKind | null =>
  SYNCED_KINDS.find((one) => SYNCED_RESOURCES[one].kind === kind) ?? null

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
  const listeners: ((change: ReferencedChange) => void)[] = []
  const setNamed = namedByReferrer(index)
  index.subscribe(({ target, isReferenced }) => {
    const kind = syncedKindOf(target.kind)
    if (kind === null) return
    if (isReferenced) {
      virtual[kind].want(target)
      host[kind].want(hostNameOf(target, place))
    }
    const key = objectKey(target)
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
    alsoNames: (referrer, soon) => setNamed(referrer, { soon }),
    release: (kind, key) => {
      const virtualName = virtualNameOf(key)
      virtual[kind].release(virtualName)
      host[kind].release(hostNameOf(virtualName, place))
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
    const text = `${referrer.kind}/${referrer.key}`
    const before = named.get(text) ?? NAMES_NOTHING
    const next = { ...before, ...change }
    if (next.now.length === 0 && next.soon.length === 0) named.delete(text)
    else named.set(text, next)
    const isNothing = [...before.now, ...before.soon, ...next.now, ...next.soon].length === 0
    if (!isNothing) index.set(referrer, [...next.now, ...next.soon])
  }
}

/** The name in a key of objectKey. */
export function virtualNameOf(key: string): VirtualName {
  const [namespace = '', name = ''] = key.split('/')
  return { name, namespace }
}
