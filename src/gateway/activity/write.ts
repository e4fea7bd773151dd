// Writes the last use of a key to its status (contract 14.1).
import { ACCESS_KEYS } from '../../api/names.ts'
import { secretDigest } from '../../authn/credential-index.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../domain/accesskey/access-key.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { isConflict, isNotFound, isTestFailed } from '../../kube/client/api-error.ts'
import type { KubeClient, PatchOperation } from '../../kube/client/client.ts'
import type { Store } from '../../kube/informer/store.ts'

/** The reason label of these writes, for metrics. */
export const ACTIVITY_WRITE_REASONS = ['activity'] as const

/** The client that writes keys, and the store of the informer. */
export interface RecordDeps {
  readonly client: Pick<KubeClient, 'get' | 'patch'>
  /** Observes each written key, so that the next decision sees its use before the watch event arrives. */
  readonly keys: Store<AccessKey>
}

/** A use to record. */
interface UseToRecord {
  /** The key as it was last read. */
  readonly key: AccessKey
  /** The time of the use, in epoch milliseconds. */
  readonly atMs: number
  /** Whether the use must still be recorded; called when the key has changed since it was read. */
  readonly isWanted: (key: AccessKey) => boolean
  readonly signal: AbortSignal
}

/** The current key, and whether the use was written or no longer wanted; null = the key is gone. */
type RecordOutcome = { readonly key: AccessKey; readonly written: boolean } | null

/** Retries after a conflict: more in a row mean that another writer has a bug. */
const MOST_RETRIES = 8

/**
 * Writes only `status.lastActivity`, with tests of the key's uid and of the value that was read: so the value never
 * moves back, however many replicas write (contract 3.4, 14.1), unless the caller replaces one that does not count
 * (contract 2.9). A change of another field causes no retry.
 *
 * @throws StatusError, or Error when there is no answer, or when the stored key does not have the use
 */
export async function writeLastActivity(
  { client, keys }: RecordDeps,
  { key, atMs, isWanted, signal }: UseToRecord,
): Promise<RecordOutcome> {
  let operations = operationsOn(assumedStateOf(key), atMs)
  for (let retries = MOST_RETRIES; ; retries -= 1) {
    try {
      const written = await client.patch<OwnedAccessKeyObject>(
        ACCESS_KEYS,
        key,
        operations,
        'activity',
        'status',
        signal,
      )
      keys.observe(written)
      return { key: keyWithUse(written, atMs), written: true }
    } catch (error) {
      if (isNotFound(error)) return null
      if (retries === 0 || !(isTestFailed(error) || isConflict(error))) throw error
    }
    const object = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, key, signal)
    if (object?.metadata.uid !== key.uid) return null
    keys.observe(object)
    const current = accessKeyOf(object, secretDigest)
    if (!isWanted(current)) return { key: current, written: false }
    operations = operationsOn(stateOf(object), atMs)
  }
}

/**
 * The written key. A key without the use is an error, not a reason to retry: if something on the way removes the field,
 * retries would never end.
 */
function keyWithUse(object: OwnedAccessKeyObject, atMs: number): AccessKey {
  const key = accessKeyOf(object, secretDigest)
  if (key.lastActivityMs === atMs) return key
  throw new Error('the API server accepted the last use of an access key, but has not stored it')
}

/** The state of the key that the write tests for. */
interface TestedState {
  readonly uid: string
  /** The timestamp in the object; null = none. */
  readonly lastActivity: string | null
  readonly hasStatus: boolean
}

/** Assumes that the key has a status, which its slim view lacks. If not, the write fails and the object is read. */
const assumedStateOf = ({ uid, lastActivityMs }: AccessKey): TestedState => ({
  uid,
  lastActivity: lastActivityMs === null ? null : formatTimestamp(lastActivityMs),
  hasStatus: true,
})

const stateOf = ({ metadata, status }: OwnedAccessKeyObject): TestedState => ({
  uid: metadata.uid,
  lastActivity: status?.lastActivity ?? null,
  hasStatus: status !== undefined,
})

/** The JSON patch. A `test` for null succeeds when the field does not exist. */
function operationsOn(
  { uid, lastActivity, hasStatus }: TestedState,
  atMs: number,
): readonly PatchOperation[] {
  const test = (path: string, value: string | null): PatchOperation => ({ op: 'test', path, value })
  const value = formatTimestamp(atMs)
  return [
    test('/metadata/uid', uid),
    test('/metadata/deletionTimestamp', null),
    ...(hasStatus
      ? [
          test('/status/lastActivity', lastActivity),
          { op: 'add' as const, path: '/status/lastActivity', value },
        ]
      : [
          test('/status', null),
          { op: 'add' as const, path: '/status', value: { lastActivity: value } },
        ]),
  ]
}
