// The data store of the audit log: events in a database, to be asked for (contract 22.3, 22.4).
import type { AuditQuery } from '../../domain/audit/query.ts'
import type { StoreEndpoint } from '../../domain/settings/store-endpoint.ts'
import { type Clock, withTimeout } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { closeDatabases, type Databases, openDatabases, QUESTION_TIMEOUT_MS } from './databases.ts'
import { migrate } from './migrate.ts'
import { type EventsPage, queryEvents } from './query-events.ts'
import { deleteEventsBefore } from './retention.ts'
import { StoreError, storeErrorOf } from './store-error.ts'
import { type LineBatch, readPosition, type StoredEvents, writeEvents } from './write-events.ts'

/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5000

/**
 * A data store. It connects when it is first used, and brings the schema to the version of this program. Each method throws
 * StoreError, whose message may be logged; the next call reconnects where needed.
 */
export class DataStore {
  readonly #databases: Databases
  readonly #clock: Clock
  readonly #eventLoop: EventLoopShare
  #migrated: Promise<void> | null = null

  constructor(endpoint: StoreEndpoint, clock: Clock) {
    this.#databases = openDatabases(endpoint)
    this.#clock = clock
    this.#eventLoop = new EventLoopShare(clock)
  }

  /** The position of the follower of a replica, as it was given; null = it has none yet. */
  readPosition(source: string): Promise<string | null> {
    return this.#use((databases) => readPosition(databases, source))
  }

  /** Stores a batch with its position, all or nothing; lines that the store refuses are passed over. */
  writeEvents(batch: LineBatch): Promise<StoredEvents> {
    return this.#use((databases) => writeEvents(databases, batch, this.#eventLoop))
  }

  /** Answers a question within 10 s. */
  queryEvents(query: AuditQuery): Promise<EventsPage> {
    return this.#use((databases) => this.#inTime(queryEvents(databases, query)))
  }

  /**
   * Deletes events whose stage was reached before this time, in epoch milliseconds.
   *
   * @param signal ends it between two statements
   * @returns how many were deleted
   */
  deleteEventsBefore(beforeMs: number, signal: AbortSignal): Promise<number> {
    return this.#use((databases) => deleteEventsBefore(databases, beforeMs, signal))
  }

  /** Closes all connections, within 5 s: those that a statement holds longer go with the process. */
  async close(): Promise<void> {
    const closing = closeDatabases(this.#databases)
    await withTimeout(this.#clock, CLOSE_TIMEOUT_MS, () => closing).catch(() => undefined)
  }

  async #use<T>(act: (databases: Databases) => Promise<T>): Promise<T> {
    try {
      await this.#migrate()
      return await act(this.#databases)
    } catch (error) {
      throw storeErrorOf(error)
    }
  }

  /** The database ends its statements by itself; this bounds all of them, and a database that does not answer. */
  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const cancel = this.#clock.schedule(QUESTION_TIMEOUT_MS, () => {
      reject(new StoreError('timeout', 'the data store took too long'))
    })
    try {
      return await Promise.race([answer, late])
    } finally {
      cancel()
    }
  }

  async #migrate(): Promise<void> {
    this.#migrated ??= migrate(this.#databases)
    const migrated = this.#migrated
    await migrated.catch((error: unknown) => {
      if (this.#migrated === migrated) this.#migrated = null
      throw error
    })
  }
}
