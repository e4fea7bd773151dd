// What one run remembers of its pairs: one record for each, so that a forgotten pair leaves nothing behind.
//
// Two things outlive the record on purpose. Times of writes (writes/write-pace.ts) end by time alone: an object that is
// deleted and created again gets no new budget. Reported failures (ReportedFailures in report.ts) belong to the process:
// a run with another configuration does not report them again.
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonMap } from '../../domain/json/json.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { KeepsEvaluations } from '../patches/evaluation-cache.ts'
import type { KeepsLastWrite } from '../writes/write-pace.ts'
import type { WrittenMetadata } from '../objects/host-metadata.ts'

/** The states of an object that belongs on the host, as in platform_sync_objects. */
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
export type ObjectState = (typeof OBJECT_STATES)[number]

/** What a run remembers of its writes to the object on one side. */
interface SideState extends KeepsLastWrite {
  /** A digest, by writeDigest, of the last write that changed nothing; null = there was none. */
  unchangedWrite: string | null
}

/** What a run remembers of one pair. Times are monotonic milliseconds. */
export interface PairState extends KeepsEvaluations {
  /** null = the object does not belong on the host, or its first reconcile has not finished. */
  state: ObjectState | null
  /** The first change that is not on both sides yet; null = there is none. */
  changedAtMs: number | null
  /** The last delay of a write; null = none was delayed. */
  delayedAtMs: number | null
  /** The digest, by verdictOf, of a pair whose patches do not converge; null = they do. */
  verdict: string | null
  /** The labels and annotations of the last complete write, and the uid of the virtual object then. */
  written: { readonly uid: string; readonly metadata: WrittenMetadata } | null
  /** The host name that the pair waits for; null = it waits for none. Only PairStates.awaitHostName sets it. */
  awaitedHostName: string | null
  readonly virtual: SideState
  readonly host: SideState
}

const newState = (): PairState => ({
  state: null,
  changedAtMs: null,
  delayedAtMs: null,
  verdict: null,
  written: null,
  awaitedHostName: null,
  evaluations: null,
  virtual: { lastWrite: null, unchangedWrite: null },
  host: { lastWrite: null, unchangedWrite: null },
})

/** The records of all pairs of one kind, by the key of the virtual object. */
export class PairStates {
  readonly #states = new Map<string, PairState>()
  /** Keys of pairs by the host name that they await: the index of awaitedHostName. */
  readonly #waiting = new Map<string, Set<string>>()

  /** The record of a pair, which begins empty. */
  of(key: string): PairState {
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state = newState()
    this.#states.set(key, state)
    return state
  }

  /** Forgets all of a pair. */
  forget(key: string): void {
    this.#stopWaiting(key)
    this.#states.delete(key)
  }

  /**
   * Sets the host name that the pair waits for: another object has it, or the object of that name was not read yet. That
   * object has no mark of this pair, and its next change must queue the pair all the same.
   *
   * @param hostKey as objectKey gives it; null = the pair waits for none
   */
  awaitHostName(key: string, hostKey: string | null): void {
    this.#stopWaiting(key)
    if (hostKey === null) return
    this.of(key).awaitedHostName = hostKey
    this.#waiting.set(hostKey, (this.#waiting.get(hostKey) ?? new Set()).add(key))
  }

  /** The keys of the pairs that wait for the name of this host object. */
  waitingFor(hostKey: string): readonly string[] {
    return [...(this.#waiting.get(hostKey) ?? [])]
  }

  /** The number of objects in each state. Iterates over all records. */
  countByState(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { state } of this.#states.values())
      if (state !== null) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }

  #stopWaiting(key: string): void {
    const state = this.#states.get(key)
    if (state === undefined || state.awaitedHostName === null) return
    const waiting = this.#waiting.get(state.awaitedHostName)
    waiting?.delete(key)
    if (waiting?.size === 0) this.#waiting.delete(state.awaitedHostName)
    state.awaitedHostName = null
  }
}

/** A digest of a write: if the same write changed nothing before, it changes nothing again. */
export const writeDigest = (wanted: JsonMap, { uid, resourceVersion }: SyncedObject): string =>
  createHash('sha256')
    .update(`${uid} ${resourceVersion} ${canonicalJson(wanted)}`)
    .digest('base64')

/** Whether this write of the object changes nothing, as the record of its side says. */
export const isUnchangedWrite = (
  { unchangedWrite }: SideState,
  wanted: JsonMap,
  before: SyncedObject,
): boolean => unchangedWrite !== null && unchangedWrite === writeDigest(wanted, before)
