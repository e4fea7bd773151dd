import { ACCESS_KEYS } from '../api/names.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { oldestKeyOf } from '../domain/accesskey/key-state.ts'
import { type KeyLookup, MAX_CHAIN_LENGTH } from '../domain/accesskey/owner-chain.ts'
import type { People } from '../domain/people/people.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { singleFlight } from '../runtime/concurrency/single-flight.ts'
import { keyWithoutStatus } from './credential-index.ts'
import { READ_TIMEOUT_MS, REUSE_READS_FOR_MS } from './staleness.ts'

/** Reads keys from the API server while the watch can't be trusted (contract 10.4). */
export interface LiveKeyReader {
  /**
   * Reads the keys with these names, their owners, and the keys that have the same secret according to the index. People
   * and teams are those of the index.
   *
   * @throws Error when one of them can't be read
   */
  readonly readWithRelated: (names: readonly string[]) => Promise<LiveKeys>
}

/** Keys as they were read. */
export interface LiveKeys extends KeyLookup {
  readonly keys: readonly AccessKey[]
}

/** Limit on keys read for one request: enough for a few owner chains, and as many as can be read in time. */
const MAX_READS = 4 * MAX_CHAIN_LENGTH

/** Creates a reader that reads each key at most once in `reuseForMs` (default: a second) for all callers together. */
export function createLiveKeyReader(
  client: KubeClient,
  clock: Clock,
  index: KeyLookup,
  reuseForMs: number = REUSE_READS_FOR_MS,
): LiveKeyReader {
  const readNow = async (name: string, signal: AbortSignal): Promise<AccessKey | null> => {
    const object = await client.get(ACCESS_KEYS, { name }, signal)
    return object && keyWithoutStatus(object)
  }
  const read = singleFlight(clock, readNow, { reuseForMs, timeoutMs: READ_TIMEOUT_MS })
  return {
    readWithRelated: async (names) => {
      const found = new Map<string, AccessKey | null>()
      for (let toRead = names; toRead.length > 0; ) {
        if (found.size + toRead.length > MAX_READS) throw new Error('too many keys to read')
        const keys = await Promise.all(toRead.map(read))
        toRead.forEach((name, at) => found.set(name, keys[at] ?? null))
        const related = keys.flatMap((key) => (key ? relatedNames(key, index) : []))
        toRead = [...new Set(related)].filter((name) => !found.has(name))
      }
      return lookupOf(
        [...found.values()].filter((key) => key !== null),
        index.people,
      )
    },
  }
}

/** Names of the key's owner, and of the keys that have the same secret according to the index. */
const relatedNames = (key: AccessKey, index: KeyLookup): readonly string[] => [
  ...(key.ownerRef ? [key.ownerRef.name] : []),
  ...(key.digest === null ? [] : index.sharing(key).map(({ name }) => name)),
]

function lookupOf(keys: readonly AccessKey[], people: People): LiveKeys {
  const sharing: KeyLookup['sharing'] = ({ digest }) => keys.filter((key) => key.digest === digest)
  return {
    keys,
    people,
    named: (name) => keys.find((key) => key.name === name),
    sharing,
    eldest: (key) => oldestKeyOf(sharing(key)),
    isShared: (key) => sharing(key).length > 1,
  }
}
