// Reports the state of each object in Events on the virtual object, in metrics and in the log (contract 19.8, 20).
import type { JsonMap } from '../../domain/json/json.ts'
import { isRefusal, StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { shortDigest, virtualNameOf } from '../objects/host-name.ts'
import { forEachKind, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import { type Patch, readsConfig } from '../patches/parse.ts'
import { canHoldSecret } from '../patches/secrecy.ts'
import type { ErrorReason, SyncObserver, WriteDirection } from '../writes/observer.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import type { FailedPatch } from './failed-patch.ts'
import type { ObjectState, PairStates } from './state.ts'

/** A write that a cluster refuses. */
interface RefusedByCluster {
  readonly by: 'host' | 'virtual cluster'
  readonly error: StatusError
  /** null = the object was to be deleted. */
  readonly sent: JsonMap | null
}

/** A write whose refusal is reported, with an Event on the virtual object if it exists. */
interface ReportedWrite {
  readonly key: string
  readonly virtual: SyncedObject | null
  readonly cluster: RefusedByCluster['by']
  /** Whether the written object existed when it was read. */
  readonly isKnown: boolean
  /** null = the object is deleted. */
  readonly sent: JsonMap | null
}

/** The texts of a failure. */
interface Note {
  /** The note of the Event. */
  readonly note: string
  /** The note of the log line; absent = the same. */
  readonly logged?: string
  /** Two failures of one reason are the same failure if this is the same. */
  readonly discriminator: string
}

/**
 * Digests of the failures that were reported for the objects of one kind, by the key of the virtual object, until the
 * object is in step: neither a retry nor a run with another configuration reports the same failure again.
 */
export type ReportedFailures = Map<string, string>

/** The reported failures of a process, which its runs share: none yet. */
export const noReportedFailures = (): Readonly<Record<SyncedKind, ReportedFailures>> =>
  forEachKind(() => new Map())

/** Dependencies of the report of one kind. */
interface ReportOptions {
  /** As in manifests, such as `Endpoints`. */
  readonly kind: string
  readonly patches: readonly Patch[]
  readonly states: PairStates
  readonly reported: ReportedFailures
  /** Records Events in the virtual cluster. */
  readonly events: EventRecorder
  readonly observer: SyncObserver
  readonly clock: Clock
  readonly log: Log
}

/** A failure of one object. */
interface ObjectFailure {
  readonly key: string
  /** null = it does not exist, and no Event is recorded. */
  readonly virtual: SyncedObject | null
  readonly state: ObjectState
  readonly reason: ErrorReason
  readonly note: Note
}

/** After this long without a delay, the next delay of an object's writes is reported again. */
const DELAY_ENDS_MS = 600_000

/** Reports the objects of one kind, by the key of the virtual object, and keeps their states. */
export class SyncReport {
  readonly #options: ReportOptions
  /** Whether an answer to a write may quote a value that is secret. */
  readonly #isHidden: boolean

  constructor(options: ReportOptions) {
    this.#options = options
    this.#isHidden = options.kind === 'Secret' || options.patches.some(readsConfig)
  }

  /** The number of objects in each state. Iterates over all objects. */
  countByState(): Readonly<Record<string, number>> {
    return this.#options.states.countByState()
  }

  /** Call it when either object has changed. */
  changed(key: string): void {
    const { clock, states } = this.#options
    states.of(key).changedAtMs ??= clock.monotonicMs()
  }

  /** Sets the state. An object that waits for something else than a write has no lag from an earlier change. */
  state(key: string, state: ObjectState): void {
    const pair = this.#options.states.of(key)
    pair.state = state
    if (state === 'waiting') pair.changedAtMs = null
  }

  /** Forgets a pair that is not synced any more, or that is left alone. */
  forget(key: string): void {
    this.#options.states.forget(key)
    this.#ended(key, 'an object that was not in step is not synced any more')
  }

  /** Both objects are as they are to be. @param isWritten whether this needed a write: its event does not count as a change */
  inStep(key: string, isWritten: boolean): void {
    const { clock, observer, states } = this.#options
    const state = states.of(key)
    const { changedAtMs } = state
    if (isWritten && changedAtMs !== null)
      observer.caughtUp((clock.monotonicMs() - changedAtMs) / 1000)
    state.changedAtMs = null
    state.verdict = null
    if (state.state === 'refused') return
    state.state = 'synced'
    this.#ended(key, 'an object is in step again')
  }

  /** Counts a write. */
  wrote(direction: WriteDirection): void {
    this.#options.observer.wrote(direction)
  }

  /** The name on the host belongs to a foreign object. */
  taken(key: string, virtual: SyncedObject, host: SyncedObject): void {
    const text = `The name ${host.name} in namespace ${host.namespace} of the host belongs to an object that is not this one's; nothing is written.`
    const note: Note = { note: text, discriminator: host.uid }
    this.#fail({ key, virtual, state: 'taken', reason: 'NameTaken', note })
  }

  /** Reports refused addresses; without any it only ends that state. */
  refused(key: string, virtual: SyncedObject, refusals: readonly string[]): void {
    const state = this.#options.states.of(key)
    if (refusals.length === 0) {
      if (state.state === 'refused') state.state = null
      return
    }
    const text = `${refusals.join('; ')}.`
    const note: Note = { note: text, discriminator: text }
    this.#fail({ key, virtual, state: 'refused', reason: 'AddressRefused', note })
  }

  /** @returns the error, with the entry and the field, and no value that can be secret */
  patchFailed(key: string, virtual: SyncedObject, { patch, path, failure }: FailedPatch): string {
    const isHidden = canHoldSecret(virtual.object, this.#options.patches, patch)
    const detail = failure.detail === '' || isHidden ? '' : `: ${failure.detail}`
    const error = `${patch.entry} at ${path}: ${failure.because}${detail}`
    const text = `${error}; nothing is written.`
    const note: Note = { note: text, discriminator: text }
    this.#fail({ key, virtual, state: 'failed', reason: 'PatchFailed', note })
    return error
  }

  /** Whether this run has already reached this verdict. */
  isUnstable(key: string, verdict: string): boolean {
    return this.#options.states.of(key).verdict === verdict
  }

  /** The patches do not converge for these objects. */
  unstable(key: string, virtual: SyncedObject, verdict: string): void {
    const isNew = !this.isUnstable(key, verdict)
    this.#options.states.of(key).verdict = verdict
    this.#set(key, 'unstable')
    if (!isNew) return
    const entries = this.#options.patches.map(({ entry }) => entry)
    const text = `The patches give another result in each round, and nothing is written until they or the object change: ${entries.join(', ')}.`
    const note: Note = { note: text, discriminator: verdict }
    this.#fail({ key, virtual, state: 'unstable', reason: 'PatchNotStable', note })
  }

  /** A cluster refuses a write. @param virtual null = it does not exist: its host object is not deleted */
  notWritten(
    key: string,
    virtual: SyncedObject | null,
    { by, error, sent }: RefusedByCluster,
  ): void {
    const { code, reason, message } = error
    const noteOf = (because: string): string => `The ${by} refuses the object: ${because}.`
    const text = noteOf(refusalNote(error, this.#isHidden, sent))
    const logged = noteOf(this.#isHidden ? `${code} ${reason}`.trimEnd() : message)
    // Numbers in an answer, such as sizes, can differ each time: it is the same failure.
    const note: Note = {
      note: text,
      logged,
      discriminator: `${code} ${text.replaceAll(/\d+/g, '')}`,
    }
    this.#fail({ key, virtual, state: 'not-written', reason: 'NotWritten', note })
  }

  /** Answers to changes of one side wait, as there were too many; reported once. @param by `host` or `virtual cluster` */
  delayed(key: string, virtual: SyncedObject, by: string): void {
    const { clock, states } = this.#options
    const state = states.of(key)
    const nowMs = clock.monotonicMs()
    const { delayedAtMs: lastMs } = state
    state.delayedAtMs = nowMs
    state.state = 'delayed'
    if (lastMs !== null && nowMs - lastMs < DELAY_ENDS_MS) return
    const text = `Somebody changes the object of the ${by} again and again; what is written in answer waits up to a minute, and changes of the other side do not.`
    this.#record(key, virtual, 'WritesDelayed', { note: text, discriminator: by })
  }

  /** The error of a write as it may be logged. @param to `host` or `virtual cluster` */
  #loggable(error: unknown, to: string): unknown {
    if (!this.#isHidden || !(error instanceof StatusError)) return error
    return withoutDetail(error, `write of the ${this.#options.kind} to the ${to}`)
  }

  /**
   * Writes, and reports a refusal by the cluster.
   *
   * @throws ReportedFailure for a refusal, else what `write` throws; neither has a message that could quote a secret value
   */
  async refusalReported<T>(
    { key, virtual, cluster, isKnown, sent }: ReportedWrite,
    write: () => Promise<T>,
  ): Promise<T> {
    try {
      return await write()
    } catch (error) {
      const loggable = this.#loggable(error, cluster)
      if (!isRefusal(error, isKnown)) throw loggable
      this.notWritten(key, virtual, { by: cluster, error, sent })
      const cause = loggable instanceof Error ? loggable : error
      throw new ReportedFailure(cause.message, { retryAfterMs: error.retryAfterMs, cause })
    }
  }

  /** One line when a failure ends. */
  #ended(key: string, sentence: string): void {
    if (!this.#options.reported.delete(key)) return
    const { kind, log } = this.#options
    log.info({ kind, object: virtualNameOf(key) }, sentence)
  }

  /** Sets a state in which nothing is written: no lag is measured from an earlier change. */
  #set(key: string, state: ObjectState): void {
    const pair = this.#options.states.of(key)
    pair.state = state
    pair.changedAtMs = null
  }

  #fail({ key, virtual, state, reason, note }: ObjectFailure): void {
    this.#set(key, state)
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
