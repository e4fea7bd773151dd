// Follows the Secrets of the target namespace: compared every 5 s by their names and resourceVersions, and read where
// they differ (contract 9.5, 10.4). A Secret that can't be read affects only its own target.
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
  /** Whether this process is a direct endpoint; as in definitionOf. */
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
  const { clock, log, signal } = options
  const secrets = new TargetSecrets(options)
  const poller = startPoller({
    name: 'targets',
    clock,
    log,
    signal,
    read: (abort) => secrets.compare(abort),
    everyMs: RENEW_AFTER_MS,
    freshForMs: FRESH_FOR_MS,
    timeoutMs: READ_TIMEOUT_MS,
    // Each comparison is a new one.
    reuseForMs: 0,
  })
  return {
    all: () => secrets.all(),
    isFresh: () => isFresh(poller.provenAt(), currentMoment(clock)),
  }
}

class TargetSecrets {
  readonly #options: TargetSecretsOptions
  readonly #byName = new Map<string, TargetSecret>()
  /** For each Secret that can't be read, by name: when its last content was last proven current. */
  readonly #unreadSinceMs = new Map<string, number>()
  #isFirst = true
  #comparedMs: number

  constructor(options: TargetSecretsOptions) {
    this.#options = options
    this.#comparedMs = options.clock.monotonicMs()
  }

  all(): readonly TargetSecret[] {
    return [...this.#byName.values()]
  }

  /** Reads the Secrets that differ. @throws Error when one can't be read for another reason than the server's answer */
  async compare(abort: AbortSignal): Promise<void> {
    const { reader, clock, changed } = this.#options
    const startedMs = clock.monotonicMs()
    const versions = await reader.list(abort)
    const isOneGone = this.#forgetOthers(new Set(versions.map(({ name }) => name)))
    const inTurn = createSemaphore(READS_AT_A_TIME, 1)
    const results = await Promise.allSettled(
      versions
        .filter((version) => this.#differs(version))
        .map((version) => inTurn(version.name, () => this.#read(version, abort))),
    )
    const hasChanged = isOneGone || results.some((one) => one.status === 'fulfilled' && one.value)
    this.#comparedMs = startedMs
    if (hasChanged || this.#isFirst) changed(this.all())
    this.#isFirst = false
    const failed = results.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** Forgets the Secrets that are not listed. @returns whether there was one */
  #forgetOthers(listed: ReadonlySet<string>): boolean {
    const gone = [...this.#byName.keys()].filter((name) => !listed.has(name))
    for (const name of gone) this.#byName.delete(name)
    for (const name of this.#unreadSinceMs.keys())
      if (!listed.has(name)) this.#unreadSinceMs.delete(name)
    return gone.length > 0
  }

  #differs({ name, uid, resourceVersion }: ObjectVersion): boolean {
    const current = this.#byName.get(name)
    return current?.resourceVersion !== resourceVersion || current.uid !== uid
  }

  /** Reads a Secret that differs. @returns whether its definition may have changed */
  async #read(version: ObjectVersion, abort: AbortSignal): Promise<boolean> {
    const { reader, isDirect } = this.#options
    const { name } = version
    try {
      const secret = await reader.get(name, abort)
      this.#unreadSinceMs.delete(name)
      if (secret === null) return this.#byName.delete(name)
      const { uid, resourceVersion } = secret.metadata
      const definition = definitionOf(secret, isDirect)
      this.#byName.set(name, { name, uid, resourceVersion, definition })
      return true
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return this.#becomesUnreadable(version)
    }
  }

  /** @returns whether its definition has changed */
  #becomesUnreadable({ name, uid }: ObjectVersion): boolean {
    const before = this.#byName.get(name)
    const sinceMs = this.#unreadSinceMs.get(name) ?? this.#comparedMs
    this.#unreadSinceMs.set(name, sinceMs)
    // The old content may have been withdrawn, so trust it only until the freshness limit.
    if (before && this.#options.clock.monotonicMs() - sinceMs < FRESH_FOR_MS) return false
    const target = before?.definition.target ?? null
    const definition = { kind: 'invalid', target, because: UNREADABLE } as const
    const isNews = before?.definition.kind !== 'invalid' || before.definition.because !== UNREADABLE
    // Without a version of its own, so that it is read again at each comparison.
    this.#byName.set(name, { name, uid, resourceVersion: '', definition })
    return isNews
  }
}
