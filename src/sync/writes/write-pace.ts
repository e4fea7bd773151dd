// The pace of writes to one object (contract 19.7): a change by a user of the other side is written at once, answers to
// the written side are limited, and no write is lost.
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonMap } from '../../domain/json/json.ts'
import type { Clock } from '../../runtime/clock.ts'
import { withoutVersion } from '../objects/server-fields.ts'
import type { SyncedObject } from '../objects/synced-object.ts'

/** The most writes of an object in any 60 s that answer a change on the side that is written. */
const MOST_ANSWERS = 10
const WINDOW_MS = 60_000
/** Changes of the other side within this time are written together. */
const MERGE_MS = 1000

/** The facts of a write on which its pace depends. */
export interface PacedWrite {
  /** The version of the object on the other side from which it was translated. */
  readonly source: string
  /** A digest of the written object. */
  readonly wanted: string
}

/** A write that is always an answer. */
type AnswerWrite = 'answer'

/** @param source the object on the other side; null = there is none @param wanted null = the object is deleted */
export const pacedWrite = (
  source: Pick<SyncedObject, 'uid' | 'resourceVersion'> | null,
  wanted: JsonMap | null,
): PacedWrite => ({
  source: source === null ? '' : versionOf(source),
  wanted:
    wanted === null
      ? ''
      : createHash('sha256')
          .update(canonicalJson(withoutVersion(wanted)))
          .digest('base64'),
})

const versionOf = ({ uid, resourceVersion }: Pick<SyncedObject, 'uid' | 'resourceVersion'>) =>
  `${uid} ${resourceVersion}`

/** How long a write waits, and why. */
export interface PacedWait {
  /** Milliseconds; 0 = it may be written now. */
  readonly delayMs: number
  /** Whether it answers a change on the side that is written: nothing new came from the other one. */
  readonly isAnswer: boolean
}

/** A record of an object that keeps the last write of one side. */
export interface KeepsLastWrite {
  /** null = this run has not written it. */
  lastWrite: PacedWrite | null
}

/** The times of the writes to one object, in monotonic milliseconds. */
interface WriteTimes {
  readonly lastMs: number
  /** The last answers, oldest first. */
  readonly answersMs: readonly number[]
}

/**
 * The times of the writes to the objects of one side, by key. They end by time alone, a minute after the last write, and
 * not with the object: deleting and creating it again gives no new budget. A write that must wait is merged with the
 * writes after it: the caller reads the newest state when the wait is over.
 */
export class WritePace {
  readonly #clock: Clock
  /** In the order of their last writes. */
  readonly #times = new Map<string, WriteTimes>()

  /** Only differences of the clock's monotonic counter count. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How long this write of the object must wait. */
  waitOf(key: string, write: PacedWrite | AnswerWrite, record: KeepsLastWrite): PacedWait {
    const isAnswer = isAnswerTo(record.lastWrite, write)
    const times = this.#times.get(key)
    if (times === undefined) return { delayMs: 0, isAnswer }
    const [earliestMs = 0] = times.answersMs
    const isFull = times.answersMs.length >= MOST_ANSWERS
    const dueMs = isAnswer ? (isFull ? earliestMs + WINDOW_MS : 0) : times.lastMs + MERGE_MS
    return { delayMs: Math.max(Math.ceil(dueMs - this.#clock.monotonicMs()), 0), isAnswer }
  }

  /** Records a write of the object, also as the last one of its record. */
  wrote(key: string, write: PacedWrite | AnswerWrite, record: KeepsLastWrite): void {
    const nowMs = this.#clock.monotonicMs()
    const times = this.#times.get(key)
    const answersMs = (times?.answersMs ?? []).filter((ms) => ms > nowMs - WINDOW_MS)
    const isAnswer = isAnswerTo(record.lastWrite, write)
    this.#times.delete(key)
    this.#times.set(key, {
      lastMs: nowMs,
      answersMs: isAnswer ? [...answersMs.slice(1 - MOST_ANSWERS), nowMs] : answersMs,
    })
    this.#dropEnded(nowMs)
    if (write !== 'answer') record.lastWrite = write
  }

  #dropEnded(nowMs: number): void {
    for (const [key, { lastMs }] of this.#times) {
      if (lastMs > nowMs - WINDOW_MS) return
      this.#times.delete(key)
    }
  }
}

/**
 * Records that the syncer itself has written the object on the other side, which does not count as a change by a user there.
 *
 * @param before the object on the other side before that write @param resourceVersion its version after it
 */
export function sourceWritten(
  record: KeepsLastWrite,
  before: Pick<SyncedObject, 'uid' | 'resourceVersion'>,
  resourceVersion: string,
): void {
  const { lastWrite } = record
  // If the sources differ, an earlier change by a user is still to be written.
  if (lastWrite === null || lastWrite.source !== versionOf(before)) return
  record.lastWrite = { ...lastWrite, source: versionOf({ uid: before.uid, resourceVersion }) }
}

/** Whether the write is an answer. A change of the other side that changes the written content makes it none. */
const isAnswerTo = (last: PacedWrite | null, write: PacedWrite | AnswerWrite): boolean =>
  write === 'answer' ||
  (last !== null && (last.source === write.source || last.wanted === write.wanted))
