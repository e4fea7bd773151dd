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

/** Why keys are written, for metrics. */
export const ACTIVITY_WRITE_REASONS = ['activity'] as const

/** Where uses are recorded. */
export interface RecordDeps {
  readonly client: Pick<KubeClient, 'get' | 'patch'>
  /** Takes in what is stored, so that our next decision counts on it. */
  readonly keys: Store<AccessKey>
}

/** One use to be recorded. */
interface Recording {
  /** The key as it was last seen. */
  readonly key: AccessKey
  readonly atMs: number
  /** Asked when the key turns out to be another than it was seen. */
  readonly isWanted: (key: AccessKey) => boolean
  readonly signal: AbortSignal
}

/** What became of it, with the key as it is now: written, or no longer wanted. null = the key is gone. */
type Recorded = { readonly key: AccessKey; readonly written: boolean } | null

/** Others write as well: so many conflicts in a row are a bug in another writer. */
const MOST_TRIES = 8

/**
 * Writes `status.lastActivity`, and nothing else, on this very object and only over the value that was
 * seen: so it never moves back, however many write at the same time (contract 3.4, 14.1). Other fields may
 * change meanwhile, which is no reason to try again.
 *
 * @throws StatusError, or Error when there is no answer, or one that does not hold the use
 */
export async function record(
  { client, keys }: RecordDeps,
  { key, atMs, isWanted, signal }: Recording,
): Promise<Recorded> {
  let operations = operationsOn(assumedOf(key), atMs)
  for (let left = MOST_TRIES; ; left -= 1) {
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
      return { key: keptIn(written, atMs), written: true }
    } catch (error) {
      if (isNotFound(error)) return null
      if (left === 0 || !(isTestFailed(error) || isConflict(error))) throw error
    }
    const object = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, key, signal)
    if (object?.metadata.uid !== key.uid) return null
    keys.observe(object)
    const now = accessKeyOf(object, secretDigest)
    if (!isWanted(now)) return { key: now, written: false }
    operations = operationsOn(seenOf(object), atMs)
  }
}

/** Without this a use that something on the way takes out again would be written without an end. */
function keptIn(object: OwnedAccessKeyObject, atMs: number): AccessKey {
  const key = accessKeyOf(object, secretDigest)
  if (key.lastActivityMs === atMs) return key
  throw new Error('the API server took the last use of an access key, but does not keep it')
}

/** What must still be so when the use is written. */
interface Seen {
  readonly uid: string
  /** As it stands there; null = none. */
  readonly lastActivity: string | null
  readonly hasStatus: boolean
}

/** The view lacks fields that mostly have their usual value; where they may not, the object is read. */
const assumedOf = ({ uid, lastActivityMs }: AccessKey): Seen => ({
  uid,
  lastActivity: lastActivityMs === null ? null : formatTimestamp(lastActivityMs),
  hasStatus: true,
})

const seenOf = ({ metadata, status }: OwnedAccessKeyObject): Seen => ({
  uid: metadata.uid,
  lastActivity: status?.lastActivity ?? null,
  hasStatus: status !== undefined,
})

/** A `test` for null holds where there is no such field. */
function operationsOn(
  { uid, lastActivity, hasStatus }: Seen,
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
