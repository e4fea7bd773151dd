// Reports the state of each object in Events on the virtual object, in metrics and in the log (contract 19.8, 20).
import type { JsonMap } from '../../domain/json/json.ts'
import { StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { shortDigest, virtualNameOf } from '../objects/host-name.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { FailedPatch } from './failed-patch.ts'
import { type Patch, readsConfig } from '../patches/parse.ts'
import { canHoldSecret } from '../patches/secrecy.ts'
import type { ErrorReason, SyncObserver, WriteDirection } from '../writes/observer.ts'
import { refusalNote } from '../writes/refusal-note.ts'

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

/** A write that a cluster refuses. */
interface RefusedByCluster {
  readonly by: 'host' | 'virtual cluster'
  readonly error: StatusError
  /** What was to be written; null = a delete. */
  readonly sent: JsonMap | null
}

/** What an Event says, and what the log says of the same. */
interface Note {
  readonly note: string
  /** Absent = the note itself. */
  readonly logged?: string
  /** What makes it another failure than one before. */
  readonly discriminator: string
}

/**
 * Digests of what was reported last of the objects of one kind, by the key of the virtual object, until the object is in step:
 * a retry has nothing new to say, and neither has a run with another configuration.
 */
export type ReportedFailures = Map<string, string>

/** Dependencies of the report of one kind. */
interface ReportOptions {
  /** As in manifests, such as `Endpoints`. */
  readonly kind: string
  readonly patches: readonly Patch[]
  readonly reported: ReportedFailures
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
    this.#ended(key, 'an object that was not in step is not synced any more')
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
    this.#ended(key, 'an object is in step again')
  }

  /** Counts a write. */
  wrote(direction: WriteDirection): void {
    this.#options.observer.wrote(direction)
  }

  /** The name on the host belongs to a foreign object. */
  taken(key: string, virtual: SyncedObject, host: SyncedObject): void {
    const note = `The name ${host.name} in namespace ${host.namespace} of the host belongs to an object that is not this one's; nothing is written.`
    this.#fail(key, virtual, 'taken', 'NameTaken', { note, discriminator: host.uid })
  }

  /** Reports refused addresses; without any it does nothing but end that state. */
  refused(key: string, virtual: SyncedObject, refusals: readonly string[]): void {
    if (refusals.length === 0) {
      if (this.#states.get(key) === 'refused') this.#states.delete(key)
      return
    }
    const note = `${refusals.join('; ')}.`
    this.#fail(key, virtual, 'refused', 'AddressRefused', { note, discriminator: note })
  }

  /** @returns the error, with the entry and the field, and no value that can be secret */
  patchFailed(key: string, virtual: SyncedObject, { patch, path, failure }: FailedPatch): string {
    const isHidden = canHoldSecret(virtual.object, this.#options.patches, patch)
    const detail = failure.detail === '' || isHidden ? '' : `: ${failure.detail}`
    const text = `${patch.entry} at ${path}: ${failure.because}${detail}`
    const note = `${text}; nothing is written.`
    this.#fail(key, virtual, 'failed', 'PatchFailed', { note, discriminator: note })
    return text
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
    this.#fail(key, virtual, 'unstable', 'PatchNotStable', { note, discriminator: verdict })
  }

  /** A cluster refuses a write. @param virtual null = there is none, and no Event: its host object is not deleted */
  notWritten(
    key: string,
    virtual: SyncedObject | null,
    { by, error, sent }: RefusedByCluster,
  ): void {
    const { code, reason, message } = error
    const noteOf = (because: string): string => `The ${by} refuses the object: ${because}.`
    const note = noteOf(refusalNote(error, this.#isHidden, sent))
    const logged = noteOf(this.#isHidden ? `${code} ${reason}`.trimEnd() : message)
    // Numbers in an answer, such as sizes, can be others each time: it is the same failure.
    const discriminator = `${code} ${note.replaceAll(/\d+/g, '')}`
    this.#fail(key, virtual, 'not-written', 'NotWritten', { note, logged, discriminator })
  }

  /** Answers to changes of one side wait, as there were too many; said once. @param by `host` or `virtual cluster` */
  delayed(key: string, virtual: SyncedObject, by: string): void {
    const nowMs = this.#options.clock.monotonicMs()
    const lastMs = this.#delayedMs.get(key)
    this.#delayedMs.set(key, nowMs)
    this.#states.set(key, 'delayed')
    if (lastMs !== undefined && nowMs - lastMs < DELAY_ENDS_MS) return
    const note = `Somebody changes the object of the ${by} again and again; what is written in answer waits up to a minute, and changes of the other side do not.`
    this.#record(key, virtual, 'WritesDelayed', { note, discriminator: by })
  }

  /** The error of a write as it may be logged. @param to `host` or `virtual cluster` */
  loggable(error: unknown, to: string): unknown {
    if (!this.#isHidden || !(error instanceof StatusError)) return error
    return withoutDetail(error, `write of the ${this.#options.kind} to the ${to}`)
  }

  /** One line when a failure ends. */
  #ended(key: string, sentence: string): void {
    if (!this.#options.reported.delete(key)) return
    const { kind, log } = this.#options
    log.info({ kind, object: virtualNameOf(key) }, sentence)
  }

  #fail(
    key: string,
    virtual: SyncedObject | null,
    state: ObjectState,
    reason: ErrorReason,
    note: Note,
  ): void {
    this.#states.set(key, state)
    this.#changedMs.delete(key)
    const reported = `${virtual?.uid ?? ''} ${reason} ${shortDigest(note.discriminator)}`
    if (this.#options.reported.get(key) === reported) return this.#options.observer.failed(reason)
    this.#options.reported.set(key, reported)
    this.#record(key, virtual, reason, note)
  }

  #record(
    key: string,
    virtual: SyncedObject | null,
    reason: ErrorReason,
    { note, logged, discriminator }: Note,
  ): void {
    const { kind, events, observer, log } = this.#options
    observer.failed(reason)
    const line = { kind, object: virtualNameOf(key), reason, note: logged ?? note }
    log.warn(line, 'an object is not in step')
    if (virtual === null) return
    const { name, namespace, uid } = virtual
    events.record({
      regarding: { apiVersion: 'v1', kind, name, namespace, uid },
      type: 'Warning',
      reason,
      action: 'Sync',
      note,
      discriminator: shortDigest(discriminator),
    })
  }
}
