// Reports the state of each object in Events on the virtual object, in metrics and in the log (contract 19.8, 20).
import type { JsonMap } from '../../domain/json/json.ts'
import { StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import { shortDigest } from '../objects/host-name.ts'
import { forEachKind, type SyncedKind } from '../objects/synced-kinds.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import { type Patch, readsConfig } from '../patches/parse.ts'
import { canHoldSecret } from '../patches/secrecy.ts'
import type { ErrorReason, SyncObserver, WriteDirection } from '../writes/observer.ts'
import { refusalNote } from '../writes/refusal-note.ts'
import { reportRefusal } from '../writes/report-refusal.ts'
import type { FailedPatch } from './failed-patch.ts'
import type { ExistingPair, ReconciledPair } from './pair.ts'
import type { ObjectState, PairStates } from './state.ts'

/** A write that a cluster refuses. */
interface RefusedByCluster {
  readonly by: 'host' | 'virtual cluster'
  readonly error: StatusError
  /** null = the object was to be deleted. */
  readonly sent: JsonMap | null
}

/** A pair, for its lines and Events: without a virtual object there is no Event. */
type ReportedPair = Pick<ReconciledPair, 'key' | 'virtual' | 'context'>

/** A write whose refusal is reported. */
interface ReportedWrite {
  readonly pair: ReportedPair
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
  /** Failures of one object with the same reason and discriminator are one failure, which is reported once. */
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
}

/** A failure of one object. */
interface ObjectFailure {
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

  /** Sets the state. An object that waits for something other than a write has no lag from an earlier change. */
  state(key: string, state: ObjectState): void {
    const pair = this.#options.states.of(key)
    pair.state = state
    if (state === 'waiting') pair.changedAtMs = null
  }

  /** Forgets a pair that is not synced any more, or that is left alone. */
  forget(pair: Pick<ReconciledPair, 'key' | 'context'>): void {
    this.#options.states.forget(pair.key)
    this.#ended(pair, 'an object that was not in step is not synced any more')
  }

  /** Both objects are in step. @param isWritten whether this needed a write: the event of that write counts for no lag */
  inStep(pair: ReportedPair, isWritten: boolean): void {
    const { clock, observer, states } = this.#options
    const state = states.of(pair.key)
    const { changedAtMs } = state
    if (isWritten && changedAtMs !== null)
      observer.caughtUp((clock.monotonicMs() - changedAtMs) / 1000)
    state.changedAtMs = null
    state.verdict = null
    if (state.state === 'refused') return
    state.state = 'synced'
    this.#ended(pair, 'an object is in step again')
  }

  /** Counts a write. */
  wrote(direction: WriteDirection): void {
    this.#options.observer.wrote(direction)
  }

  /** The name on the host belongs to a foreign object. */
  taken(pair: ReportedPair, host: SyncedObject): void {
    const text = `The host has an object ${host.namespace}/${host.name}, which does not belong to this object; nothing is written.`
    const note: Note = { note: text, discriminator: host.uid }
    this.#fail(pair, { state: 'taken', reason: 'NameTaken', note })
  }

  /** Reports refused addresses; an empty list ends the state `refused`. */
  refused(pair: ReportedPair, refusals: readonly string[]): void {
    const state = this.#options.states.of(pair.key)
    if (refusals.length === 0) {
      if (state.state === 'refused') state.state = null
      return
    }
    const text = `${refusals.join('; ')}.`
    const note: Note = { note: text, discriminator: text }
    this.#fail(pair, { state: 'refused', reason: 'AddressRefused', note })
  }

  /** @returns the error, with the entry and the field, and no value that can be secret */
  patchFailed(
    pair: ReportedPair & Pick<ExistingPair, 'virtual'>,
    { patch, path, failure }: FailedPatch,
  ): string {
    const isHidden = canHoldSecret(pair.virtual.object, this.#options.patches, patch)
    const detail = failure.detail === '' || isHidden ? '' : `: ${failure.detail}`
    const error = `${patch.entry} at ${path}: ${failure.because}${detail}`
    const text = `${error}; nothing is written.`
    const note: Note = { note: text, discriminator: text }
    this.#fail(pair, { state: 'failed', reason: 'PatchFailed', note })
    return error
  }

  /** Whether this run has already reached this verdict. */
  isUnstable(key: string, verdict: string): boolean {
    return this.#options.states.of(key).verdict === verdict
  }

  /** The patches do not converge for these objects. */
  unstable(pair: ReportedPair, verdict: string): void {
    const { key } = pair
    const isNew = !this.isUnstable(key, verdict)
    this.#options.states.of(key).verdict = verdict
    this.#set(key, 'unstable')
    if (!isNew) return
    const entries = this.#options.patches.map(({ entry }) => entry)
    const text = `The patches do not converge: each pass changes the result again. Nothing is written until a patch or the object changes: ${entries.join(', ')}.`
    const note: Note = { note: text, discriminator: verdict }
    this.#fail(pair, { state: 'unstable', reason: 'PatchNotStable', note })
  }

  /** A cluster refuses a write. If the virtual object does not exist, that is the delete of the host object. */
  notWritten(pair: ReportedPair, { by, error, sent }: RefusedByCluster): void {
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
    this.#fail(pair, { state: 'not-written', reason: 'NotWritten', note })
  }

  /** A write that answers a change of one side waits, after too many of them. @param by `host` or `virtual cluster` */
  delayed(pair: ReportedPair, by: string): void {
    const { clock, states } = this.#options
    const state = states.of(pair.key)
    const nowMs = clock.monotonicMs()
    const { delayedAtMs: lastMs } = state
    state.delayedAtMs = nowMs
    state.state = 'delayed'
    if (lastMs !== null && nowMs - lastMs < DELAY_ENDS_MS) return
    const text = `Another writer changes the object of the ${by} again and again; the writes that answer it wait up to a minute, and changes of the other side do not.`
    this.#record(pair, 'WritesDelayed', { note: text, discriminator: by })
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
    { pair, cluster, isKnown, sent }: ReportedWrite,
    write: () => Promise<T>,
  ): Promise<T> {
    return reportRefusal(write, {
      isKnown,
      loggable: (error) => this.#loggable(error, cluster),
      report: (error) => this.notWritten(pair, { by: cluster, error, sent }),
    })
  }

  /** One line when a failure ends. */
  #ended({ key, context }: Pick<ReconciledPair, 'key' | 'context'>, sentence: string): void {
    const { kind, reported } = this.#options
    if (reported.delete(key)) context.log.info({ kind }, sentence)
  }

  /** Sets a state in which nothing is written: no earlier change counts for the lag. */
  #set(key: string, state: ObjectState): void {
    const pair = this.#options.states.of(key)
    pair.state = state
    pair.changedAtMs = null
  }

  #fail(pair: ReportedPair, { state, reason, note }: ObjectFailure): void {
    const { key, virtual } = pair
    this.#set(key, state)
    const reported = `${virtual?.uid ?? ''} ${reason} ${shortDigest(note.discriminator)}`
    if (this.#options.reported.get(key) === reported) return this.#options.observer.failed(reason)
    this.#options.reported.set(key, reported)
    this.#record(pair, reason, note)
  }

  #record(
    { virtual, context: { log, reconcileID } }: ReportedPair,
    reason: ErrorReason,
    { note, logged, discriminator }: Note,
  ): void {
    const { kind, events, observer } = this.#options
    observer.failed(reason)
    log.warn({ kind, reason, note: logged ?? note }, 'an object is not in step')
    if (virtual === null) return
    const { name, namespace, uid } = virtual
    events.record({
      regarding: { apiVersion: 'v1', kind, name, namespace, uid },
      type: 'Warning',
      reason,
      action: 'Sync',
      note,
      discriminator: shortDigest(discriminator),
      reconcileID,
    })
  }
}
