// Compares a store with a list of its objects: a watch that has broken silently delivers nothing, and looks like one
// without changes (threats F5).
import type { ObjectMeta } from '../../api/objects.ts'

/** The fields that identify a version of an object. */
type ListedVersion = Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'>

/** A version in a store. */
interface StoredVersion {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

/**
 * `complete`: the store has all that the list has. `behind`: it lacks something that the watch may be about to
 * deliver. `broken`: it lacked the same at the last comparison, and the watch has delivered none of that since.
 */
type ListComparison = 'complete' | 'behind' | 'broken'

/**
 * Creates the comparison of a store with its list, to be made again and again: pauses between two must be longer than
 * a watch takes to deliver. After `broken` it begins again.
 */
export function createListComparison(): (
  stored: Iterable<StoredVersion>,
  listed: Iterable<ListedVersion>,
) => ListComparison {
  let lackedBefore: ReadonlySet<string> = new Set()
  return (stored, listed) => {
    const lacking = lackingStates(stored, listed)
    const isBroken = [...lacking].some((state) => lackedBefore.has(state))
    lackedBefore = isBroken ? new Set() : lacking
    if (isBroken) return 'broken'
    return lacking.size === 0 ? 'complete' : 'behind'
  }
}

/**
 * A text for each object of which the store has an older state than the list; a newer one lacks nothing. The text has the
 * version in the store: a busy object has another version in every list, but its version in the store changes only if
 * the watch delivers.
 */
function lackingStates(
  stored: Iterable<StoredVersion>,
  listed: Iterable<ListedVersion>,
): ReadonlySet<string> {
  const left = new Map([...stored].map((one) => [one.name, one] as const))
  const lacking = new Set<string>()
  for (const { name, uid, resourceVersion } of listed) {
    const known = left.get(name)
    left.delete(name)
    if (known === undefined) lacking.add(`${name} ${uid}`)
    else if (known.uid !== uid || BigInt(known.resourceVersion) < BigInt(resourceVersion))
      lacking.add(stateOf(known))
  }
  // Deleted before the list, or created after it: the next comparison shows which.
  for (const known of left.values()) lacking.add(stateOf(known))
  return lacking
}

const stateOf = ({ name, uid, resourceVersion }: StoredVersion): string =>
  `${name} ${uid} ${resourceVersion}`
