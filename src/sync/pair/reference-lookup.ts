// Looks up the objects that references name while one object is translated, and starts to read missing ones (contract 19.5).
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { ImportStates } from '../imports/follow.ts'
import { type HostPlace, hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { ownerOf } from '../objects/host-metadata.ts'
import { syncedKindOf } from '../objects/synced-kinds.ts'
import {
  type NamedKind,
  type ObjectReference,
  type ReferenceLookups,
  WITHOUT_CLUSTERS,
} from '../patches/reference.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { Referrer } from '../references/index-by-name.ts'
import type { ServedKinds } from '../references/served-kinds.ts'
import type { SyncSources } from '../sources.ts'

/**
 * `complete`: all answers were there. `wait`: one was missing, and the referrer is queued when it is read. `again`: it has
 * been read since. `opens`: a host namespace is being created, and that need not queue the referrer.
 */
type LookupOutcome = 'complete' | 'wait' | 'again' | 'opens'

/** The look-ups of one translation. */
interface TranslationLookup extends ReferenceLookups {
  /** Starts to read missing objects, and ends reading objects that only the previous translation needed. */
  readonly end: () => Promise<LookupOutcome>
}

/** The look-ups of the pairs of one kind, by the key of the virtual object. */
export interface PairLookups {
  /** Begins the look-ups of one translation. */
  readonly begin: (key: string) => TranslationLookup
  /** Ends reading for an object that is not translated any more. */
  readonly drop: (key: string) => void
}

/** The look-ups of a kind without reference patches, which look nothing up. */
export const NO_LOOKUPS: PairLookups = {
  begin: () => ({ ...WITHOUT_CLUSTERS, end: () => Promise.resolve('complete') }),
  drop: () => undefined,
}

/** @param kind as in manifests, such as `Endpoints` */
export const pairLookups = (kind: string, deps: LookupDeps): PairLookups => ({
  begin: (key) => beginLookup({ kind, key }, deps),
  drop: (key) => dropLookup({ kind, key }, deps),
})

/** Dependencies of the look-ups. */
interface LookupDeps {
  readonly place: HostPlace
  readonly references: ReferencedObjects
  readonly imports: ImportStates
  readonly served: ServedKinds
  readonly sources: Pick<SyncSources, 'access'>
}

/** Begins the look-ups of a referrer. */
function beginLookup(
  referrer: Referrer,
  { place, references, imports, served, sources }: LookupDeps,
): TranslationLookup {
  const targets: ObjectReference[] = []
  const hosts: ObjectReference[] = []
  const kinds: NamedKind[] = []
  /** For each answer that was missing, whether it has been read since. */
  const missing: (() => boolean)[] = []
  let opening = false
  const own = hostNameOf(virtualNameOf(referrer.key), place).namespace
  // A reference never leads out of the virtual cluster's own host namespace: nothing is read elsewhere.
  const isInReach = ({ kind, name, namespace }: ObjectReference): boolean => {
    const synced = syncedKindOf(kind)
    const isRead = synced !== null && imports.hostObject(synced, { name, namespace }) !== 'unread'
    return namespace === own || (place.namespaces !== null && isRead)
  }
  return {
    virtualNameOf: (host) => {
      const kind = host.apiVersion === 'v1' ? syncedKindOf(host.kind) : null
      if (kind === null || !isInReach(host)) return null
      hosts.push(host)
      const found = imports.hostObject(kind, host)
      if (found === 'unread') missing.push(() => imports.hostObject(kind, host) !== 'unread')
      if (found === 'unread' || found === null) return found
      return ownerOf(found.object, host.kind, place)
    },
    isImported: (target) => {
      const state = imports.isImported(target)
      // Only an import must be read: an object under its translated name does not depend on this.
      if (state !== false) targets.push(target)
      if (state === 'unread') missing.push(() => imports.isImported(target) !== 'unread')
      return state
    },
    isServed: (kind) => {
      const state = served.isServed(kind)
      if (state === 'unread') {
        kinds.push(kind)
        missing.push(() => served.isServed(kind) !== 'unread')
      }
      return state
    },
    isOpen: (namespace) => {
      if (sources.access.isOpen(namespace)) return true
      if (!sources.access.isOpening(namespace)) return false
      opening = true
      return 'unread'
    },
    end: async () => {
      references.alsoNames(referrer, targets)
      imports.readFor(referrer, hosts)
      await served.read(kinds)
      if (opening) return 'opens'
      if (missing.length === 0) return 'complete'
      return missing.every((isKnown) => isKnown()) ? 'again' : 'wait'
    },
  }
}

/** When an object is reconciled again whose reference leads into a host namespace that is being created. */
const OPENS_MS = 10_000

/** What follows a translation that lacked an answer; for `wait`, the first read of the object queues the key. */
export function afterLookup(lookedUp: Exclude<LookupOutcome, 'complete'>, nowMs: number): Outcome {
  if (lookedUp === 'wait') return done
  return { result: 'later', atMs: nowMs + (lookedUp === 'opens' ? OPENS_MS : 0) }
}

/** Ends reading the objects that only this referrer needed: it is not translated any more. */
function dropLookup(
  referrer: Referrer,
  { references, imports }: Pick<LookupDeps, 'references' | 'imports'>,
): void {
  references.alsoNames(referrer, [])
  imports.readFor(referrer, [])
}
