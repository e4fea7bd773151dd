// Follows the Secrets of the target namespace: compared every 5 s by their names and resourceVersions, and read where
// they differ (contract 9.5, 10.4). A Secret that can't be read concerns nobody but its own target.
import type { ObjectMeta, Secret } from '../../api/objects.ts'
import { FRESH_FOR_MS, isFresh, READ_TIMEOUT_MS, RENEW_AFTER_MS } from '../../authn/staleness.ts'
import { StatusError } from '../../kube/client/api-error.ts'
import { type Clock, currentMoment } from '../../runtime/clock.ts'
import { startPoller } from '../../runtime/concurrency/poller.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { Log } from '../../runtime/log.ts'
import { definitionOf, type TargetSecret } from './definition.ts'

/** Which Secret, in which version. */
type ObjectVersion = Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion'>

/** Reads the Secrets of the target namespace. */
export interface TargetSecretReader {
  /** The Secrets with TARGET_LABEL, all at one time. */
  readonly list: (signal: AbortSignal) => Promise<readonly ObjectVersion[]>
  /** null = it is gone. */
  readonly get: (name: string, signal: AbortSignal) => Promise<Secret | null>
}

/** Dependencies of followTargetSecrets. */
interface TargetSecretsOptions {
  readonly reader: TargetSecretReader
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** As in definitionOf. */
  readonly isDirect: boolean
  /** Called with all Secrets after each comparison that found a change, and after the first one. */
  readonly changed: (secrets: readonly TargetSecret[]) => void
}

/** The Secrets as they were last read. */
interface FollowedTargetSecrets {
  readonly all: () => readonly TargetSecret[]
  /** Whether the last comparison is at most 15 s old. */
  readonly isFresh: () => boolean
}

const READS_AT_A_TIME = 16
const UNREADABLE = 'the Secret cannot be read'

/** Compares at once, and again until the signal aborts. */
export function followTargetSecrets(options: TargetSecretsOptions): FollowedTargetSecrets {
  const { reader, clock, log, signal, isDirect, changed } = options
  const known = new Map<string, TargetSecret>()
  /** Until when a Secret that can't be read is known to have been as it was read, by its name. */
  const unreadSince = new Map<string, number>()
  let isFirst = true
  let comparedMs = clock.monotonicMs()

  /** Reads a changed Secret. @returns whether what is known has changed */
  const readOne = async (version: ObjectVersion, abort: AbortSignal): Promise<boolean> => {
    const { name } = version
    try {
      const secret = await reader.get(name, abort)
      unreadSince.delete(name)
      if (secret === null) return known.delete(name)
      const { uid, resourceVersion } = secret.metadata
      known.set(name, { name, uid, resourceVersion, definition: definitionOf(secret, isDirect) })
      return true
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return becomesUnreadable(version)
    }
  }
  const becomesUnreadable = (version: ObjectVersion): boolean => {
    const { name } = version
    const before = known.get(name)
    const sinceMs = unreadSince.get(name) ?? comparedMs
    unreadSince.set(name, sinceMs)
    // What it said before may have been withdrawn: it counts no longer than any other stale knowledge.
    if (before && clock.monotonicMs() - sinceMs < FRESH_FOR_MS) return false
    const target = before?.definition.target ?? null
    const definition = { kind: 'invalid', target, because: UNREADABLE } as const
    const isNews = before?.definition.kind !== 'invalid' || before.definition.because !== UNREADABLE
    // Without a version of its own, so that it is read again at each comparison.
    known.set(name, { name, uid: version.uid, resourceVersion: '', definition })
    return isNews
  }
  const compare = async (abort: AbortSignal): Promise<void> => {
    const startedMs = clock.monotonicMs()
    const versions = await reader.list(abort)
    const listed = new Set(versions.map(({ name }) => name))
    const gone = [...known.keys()].filter((name) => !listed.has(name))
    for (const name of gone) known.delete(name)
    for (const name of unreadSince.keys()) if (!listed.has(name)) unreadSince.delete(name)
    const differing = versions.filter(
      ({ name, uid, resourceVersion }) =>
        known.get(name)?.resourceVersion !== resourceVersion || known.get(name)?.uid !== uid,
    )
    const inTurn = createSemaphore(READS_AT_A_TIME, 1)
    const results = await Promise.allSettled(
      differing.map((version) => inTurn(version.name, () => readOne(version, abort))),
    )
    const hasChanged =
      gone.length > 0 || results.some((one) => one.status === 'fulfilled' && one.value)
    comparedMs = startedMs
    if (hasChanged || isFirst) changed([...known.values()])
    isFirst = false
    const failed = results.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
  }
  const poller = startPoller({
    name: 'targets',
    clock,
    log,
    signal,
    read: compare,
    everyMs: RENEW_AFTER_MS,
    freshForMs: FRESH_FOR_MS,
    timeoutMs: READ_TIMEOUT_MS,
    // Each comparison is a new one.
    reuseForMs: 0,
  })
  return {
    all: () => [...known.values()],
    isFresh: () => isFresh(poller.provenAt(), currentMoment(clock)),
  }
}
