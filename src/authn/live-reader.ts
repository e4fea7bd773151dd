import { ACCESS_KEYS } from '../api/names.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import { oldestKeyOf } from '../domain/accesskey/key-state.ts'
import { type KeyLookup, MAX_CHAIN_LENGTH } from '../domain/accesskey/owner-chain.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { singleFlight } from '../runtime/concurrency/single-flight.ts'
import { viewOf } from './key-index.ts'
import { READ_TIMEOUT_MS, REUSE_READS_FOR_MS } from './staleness.ts'

/** Reads keys from the API server while the watch can't be trusted (contract 10.4). */
export interface LiveKeyReader {
  /**
   * The keys of these names as stored now, with their owners and the keys that have the same secret
   * according to the index.
   *
   * @throws Error when one of them can't be read
   */
  readonly around: (names: readonly string[]) => Promise<KeyLookup>
}

/** Enough for a few chains of owners: more can't be read in time. */
const MOST_READS = 4 * MAX_CHAIN_LENGTH

/** Each key is read at most once a second, or once in `reuseForMs`, for all callers together. */
export function createLiveKeyReader(
  client: KubeClient,
  clock: Clock,
  index: KeyLookup,
  reuseForMs: number = REUSE_READS_FOR_MS,
): LiveKeyReader {
  const readNow = async (name: string, signal: AbortSignal): Promise<AccessKey | null> => {
    const object = await client.get(ACCESS_KEYS, { name }, signal)
    return object && viewOf(object)
  }
  const read = singleFlight(clock, readNow, { reuseForMs, timeoutMs: READ_TIMEOUT_MS })
  return {
    around: async (names) => {
      const found = new Map<string, AccessKey | null>()
      for (let next = names; next.length > 0; ) {
        if (found.size + next.length > MOST_READS) throw new Error('too many keys to read')
        const keys = await Promise.all(next.map(read))
        next.forEach((name, at) => found.set(name, keys[at] ?? null))
        const nearby = keys.flatMap((key) => (key ? namesAround(key, index) : []))
        next = [...new Set(nearby)].filter((name) => !found.has(name))
      }
      return known([...found.values()].filter((key) => key !== null))
    },
  }
}

const namesAround = ({ ownerRef, digest }: AccessKey, index: KeyLookup): readonly string[] => [
  ...(ownerRef ? [ownerRef.name] : []),
  ...(digest === null ? [] : index.sharing(digest).map(({ name }) => name)),
]

function known(keys: readonly AccessKey[]): KeyLookup {
  const sharing = (digest: string) => keys.filter((key) => key.digest === digest)
  return {
    named: (name) => keys.find((key) => key.name === name),
    sharing,
    eldest: (digest) => oldestKeyOf(sharing(digest)),
    isShared: (digest) => sharing(digest).length > 1,
  }
}
