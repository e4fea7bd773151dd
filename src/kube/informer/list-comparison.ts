// Compares a store with a list of its objects: a watch that has broken silently delivers nothing, and looks like one
// without changes (threats F5).
import type { ObjectMeta } from '../../api/objects.ts'

/** What identifies a version of an object. */
type ListedVersion = Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'>

/** A version in a store. */
interface StoredVersion {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

/**
 * What the store lacks of the list, and what it has beyond it, as one text for each; empty = the store is complete up to
 * the moment of the list. A store may be newer: those objects are not lacking.
 */
export function missedVersions(
  stored: Iterable<StoredVersion>,
  listed: Iterable<ListedVersion>,
): ReadonlySet<string> {
  const left = new Map([...stored].map((one) => [one.name, one] as const))
  const missed = new Set<string>()
  for (const { name, uid, resourceVersion } of listed) {
    const known = left.get(name)
    left.delete(name)
    const isCurrent = known?.uid === uid && BigInt(known.resourceVersion) >= BigInt(resourceVersion)
    if (!isCurrent) missed.add(`${name} ${resourceVersion}`)
  }
  // Deleted before the list, or created after it: the next comparison knows.
  for (const { name, uid } of left.values()) missed.add(`${name} ${uid}`)
  return missed
}
