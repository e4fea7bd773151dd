// The pace of writes to one object (contract 19.7): what a user of the other side has changed goes at once, answers to
// the written side are few, and no write is lost.
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonMap } from '../../domain/json/json.ts'
import type { Clock } from '../../runtime/clock.ts'
import { withoutVersion } from '../objects/server-fields.ts'
import type { SyncedObject } from '../objects/synced-object.ts'

/** The most writes of an object in any 60 s that answer a change on the side that is written. */
const MOST_ANSWERS = 10
const WINDOW_MS = 60_000
/** What changes on the other side within this time is written together. */
const MERGE_MS = 1000

/** A write, as far as its pace depends on it. */
export interface PacedWrite {
  /** The version of the object on the other side that it comes from. */
  readonly source: string
  /** A digest of what is written. */
  readonly wanted: string
}

/** A write that answers whatever was written before. */
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

/** What is known of the writes to one object. Times are monotonic milliseconds. */
interface PastWrites {
  readonly last: PacedWrite
  readonly lastMs: number
  /** The last answers, oldest first. */
  readonly answersMs: readonly number[]
}

/**
 * The writes to the objects of one side, by key. A write that must wait is merged with those that come meanwhile: the
 * caller reads the newest state when the time has come.
 */
export class WritePace {
  readonly #clock: Clock
  readonly #past = new Map<string, PastWrites>()

  /** Only differences of the clock's monotonic counter count. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How long this write of the object must wait. */
  waitOf(key: string, write: PacedWrite | AnswerWrite): PacedWait {
    const past = this.#past.get(key)
    if (past === undefined) return { delayMs: 0, isAnswer: false }
    const isAnswer = isAnswerTo(past, write)
    const [earliestMs = 0] = past.answersMs
    const isFull = past.answersMs.length >= MOST_ANSWERS
    const dueMs = isAnswer ? (isFull ? earliestMs + WINDOW_MS : 0) : past.lastMs + MERGE_MS
    return { delayMs: Math.max(Math.ceil(dueMs - this.#clock.monotonicMs()), 0), isAnswer }
  }

  /** Records a write of the object. */
  wrote(key: string, write: PacedWrite | AnswerWrite): void {
    const nowMs = this.#clock.monotonicMs()
    const past = this.#past.get(key)
    const answersMs = (past?.answersMs ?? []).filter((ms) => ms > nowMs - WINDOW_MS)
    const isAnswer = isAnswerTo(past, write)
    this.#past.set(key, {
      last: write === 'answer' ? (past?.last ?? { source: '', wanted: '' }) : write,
      lastMs: nowMs,
      answersMs: isAnswer ? [...answersMs.slice(1 - MOST_ANSWERS), nowMs] : answersMs,
    })
  }

  /** The syncer itself has written the object on the other side: that is no change of a user there. */
  sourceWritten(
    key: string,
    before: Pick<SyncedObject, 'uid' | 'resourceVersion'>,
    resourceVersion: string,
  ): void {
    const past = this.#past.get(key)
    // Otherwise a user's change has come before, which is not written yet.
    if (past === undefined || past.last.source !== versionOf(before)) return
    const source = versionOf({ uid: before.uid, resourceVersion })
    this.#past.set(key, { ...past, last: { ...past.last, source } })
  }

  /** Drops what is known of an object that is not synced any more. */
  forget(key: string): void {
    this.#past.delete(key)
  }
}

/** A change of the other side that leads to another content is no answer. */
const isAnswerTo = (past: PastWrites | undefined, write: PacedWrite | AnswerWrite): boolean =>
  write === 'answer' ||
  (past !== undefined && (past.last.source === write.source || past.last.wanted === write.wanted))
