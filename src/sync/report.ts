// Reports the state of each object in Events on the virtual object, in metrics and in the log (contract 19.8, 20).
import { StatusError, withoutDetail } from '../kube/client/api-error.ts'
import type { EventRecorder } from '../kube/event-recorder.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Patched } from './patcher.ts'
import { type Patch, readsConfig } from './rules/patch.ts'
import { canHoldSecret } from './rules/secrecy.ts'
import { shortDigest } from './rules/host-name.ts'
import type { SyncedObject } from './synced-object.ts'

/** The states of an object that is to stand on the host, as in platform_sync_objects. */
export const OBJECT_STATES = [
  'synced',
  'waiting',
  'delayed',
  'taken',
  'refused',
  'failed',
  'unstable',
  'not-written',
] as const

/** One of OBJECT_STATES. */
type ObjectState = (typeof OBJECT_STATES)[number]

/** The reasons of Events and of platform_sync_errors_total. */
export const ERROR_REASONS = [
  'AddressRefused',
  'NameTaken',
  'NotWritten',
  'PatchFailed',
  'PatchNotStable',
  'WritesDelayed',
] as const

/** One of ERROR_REASONS. */
type ErrorReason = (typeof ERROR_REASONS)[number]

/** The directions of writes, as in platform_sync_writes_total. */
export const DIRECTIONS = ['toHost', 'toVirtual'] as const

/** Counters of one kind. */
export interface SyncObserver {
  readonly wrote: (direction: (typeof DIRECTIONS)[number]) => void
  readonly failed: (reason: ErrorReason) => void
  /** @param seconds from the change of either object until both were in step */
  readonly caughtUp: (seconds: number) => void
}

/** An expression that failed; its message names the entry and the field, and no value that can be secret. */
class PatchError extends Error {
  override readonly name = 'PatchError'
}

type FailedPatch = Extract<Patched, { readonly ok: false }>

/** Dependencies of the report of one kind. */
interface ReportOptions {
  /** As in manifests, such as `Endpoints`. */
  readonly kind: string
  readonly patches: readonly Patch[]
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly observer: SyncObserver
  readonly clock: Clock
  readonly log: Log
}

/** An object whose writes were not delayed for this long is no longer known to be written too often. */
const DELAY_ENDS_MS = 600_000

/** The states of the objects of one kind, by the key of the virtual object. */
export class SyncReport {
  readonly #options: ReportOptions
  /** Whether an answer to a write may quote a value that is secret. */
  readonly #isHidden: boolean
  readonly #states = new Map<string, ObjectState>()
  /** Verdicts of objects whose patches do not settle. */
  readonly #verdicts = new Map<string, string>()
  /** Digests of what was reported last, until the object is in step: a retry has nothing new to say. */
  readonly #reported = new Map<string, string>()
  /** Monotonic milliseconds of the first change that is not on both sides yet. */
  readonly #changedMs = new Map<string, number>()
  /** Monotonic milliseconds of the last delay of an object's writes. */
  readonly #delayedMs = new Map<string, number>()

  constructor(options: ReportOptions) {
    this.#options = options
    this.#isHidden = options.kind === 'Secret' || options.patches.some(readsConfig)
  }

  /** The number of objects in each state. Iterates over all objects. */
  countByState(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const state of this.#states.values()) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }

  /** Call it when either object has changed. */
  changed(key: string): void {
    if (!this.#changedMs.has(key)) this.#changedMs.set(key, this.#options.clock.monotonicMs())
  }

  /** Sets the state; null = the object is none of those that stand on the host. */
  state(key: string, state: ObjectState | null): void {
    if (state === null) this.#states.delete(key)
    else this.#states.set(key, state)
    if (state === null || state === 'waiting') this.#changedMs.delete(key)
  }

  /** Forgets an object of which nothing is on either side, or that is left alone. */
  forget(key: string): void {
    this.state(key, null)
    this.#verdicts.delete(key)
    this.#reported.delete(key)
    this.#delayedMs.delete(key)
  }

  /** Both objects are as they are to be. @param isWritten whether that took a write: the event of it is no change */
  inStep(key: string, isWritten: boolean): void {
    const { clock, observer } = this.#options
    const changedMs = this.#changedMs.get(key)
    if (isWritten && changedMs !== undefined)
      observer.caughtUp((clock.monotonicMs() - changedMs) / 1000)
    this.#changedMs.delete(key)
    this.#verdicts.delete(key)
    if (this.#states.get(key) === 'refused') return
    this.#states.set(key, 'synced')
    this.#reported.delete(key)
  }

  /** Counts a write. */
  wrote(direction: (typeof DIRECTIONS)[number]): void {
    this.#options.observer.wrote(direction)
  }

  /** The name on the host belongs to a foreign object. */
  taken(key: string, virtual: SyncedObject, host: SyncedObject): void {
    const note = `The name ${host.name} in namespace ${host.namespace} of the host belongs to an object that is not this one's; nothing is written.`
    this.#fail(key, virtual, 'taken', 'NameTaken', note, host.uid)
  }

  /** Reports refused addresses; without any it does nothing but end that state. */
  refused(key: string, virtual: SyncedObject, refusals: readonly string[]): void {
    if (refusals.length === 0) {
      if (this.#states.get(key) === 'refused') this.#states.delete(key)
      return
    }
    const note = `${refusals.join('; ')}.`
    this.#fail(key, virtual, 'refused', 'AddressRefused', note, note)
  }

  /** @returns the error to throw, so that the object is tried again after its back-off */
  patchFailed(
    key: string,
    virtual: SyncedObject,
    { patch, path, failure }: FailedPatch,
  ): PatchError {
    const isHidden = canHoldSecret(virtual.object, this.#options.patches, patch)
    const detail = failure.detail === '' || isHidden ? '' : `: ${failure.detail}`
    const text = `${patch.entry} at ${path}: ${failure.because}${detail}`
    const note = `${text}; nothing is written.`
    this.#fail(key, virtual, 'failed', 'PatchFailed', note, note)
    return new PatchError(text)
  }

  /** Whether this process has already reached this verdict. */
  isUnstable(key: string, verdict: string): boolean {
    return this.#verdicts.get(key) === verdict
  }

  /** The patches do not settle for these objects. */
  unstable(key: string, virtual: SyncedObject, verdict: string): void {
    const isNew = this.#verdicts.get(key) !== verdict
    this.#verdicts.set(key, verdict)
    this.#states.set(key, 'unstable')
    this.#changedMs.delete(key)
    if (!isNew) return
    const entries = this.#options.patches.map(({ entry }) => entry)
    const note = `The patches give another result in each round, and nothing is written until they or the object change: ${entries.join(', ')}.`
    this.#fail(key, virtual, 'unstable', 'PatchNotStable', note, verdict)
  }

  /** A cluster refuses a write. @param by `host` or `virtual cluster` */
  notWritten(key: string, virtual: SyncedObject, by: string, error: StatusError): void {
    const because = this.#isHidden ? `${error.code} ${error.reason}` : error.message
    const note = `The ${by} refuses the object: ${because}.`
    this.#fail(key, virtual, 'not-written', 'NotWritten', note, note)
  }

  /** Answers to changes of one side wait, as there were too many; said once. @param by `host` or `virtual cluster` */
  delayed(key: string, virtual: SyncedObject, by: string): void {
    const nowMs = this.#options.clock.monotonicMs()
    const lastMs = this.#delayedMs.get(key)
    this.#delayedMs.set(key, nowMs)
    this.#states.set(key, 'delayed')
    if (lastMs !== undefined && nowMs - lastMs < DELAY_ENDS_MS) return
    const note = `Somebody changes the object of the ${by} again and again; what is written in answer waits up to a minute, and changes of the other side do not.`
    this.#record(virtual, 'WritesDelayed', note, by)
  }

  /** The error of a write as it may be logged. @param to `host` or `virtual cluster` */
  loggable(error: unknown, to: string): unknown {
    if (!this.#isHidden || !(error instanceof StatusError)) return error
    return withoutDetail(error, `write of the ${this.#options.kind} to the ${to}`)
  }

  #fail(
    key: string,
    virtual: SyncedObject,
    state: ObjectState,
    reason: ErrorReason,
    note: string,
    of: string,
  ): void {
    this.#states.set(key, state)
    this.#changedMs.delete(key)
    const reported = `${virtual.uid} ${reason} ${shortDigest(of)}`
    if (this.#reported.get(key) === reported) return this.#options.observer.failed(reason)
    this.#reported.set(key, reported)
    this.#record(virtual, reason, note, of)
  }

  #record(
    { name, namespace, uid }: SyncedObject,
    reason: ErrorReason,
    note: string,
    of: string,
  ): void {
    const { kind, events, observer, log } = this.#options
    observer.failed(reason)
    log.warn({ kind, object: { name, namespace }, reason, note }, 'an object is not in step')
    events.record({
      regarding: { apiVersion: 'v1', kind, name, namespace, uid },
      type: 'Warning',
      reason,
      action: 'Sync',
      note,
      discriminator: shortDigest(of),
    })
  }
}
