// node:sqlite as a dialect of kysely: each connection is a worker thread, so that no statement holds the event loop.
import { Worker } from 'node:worker_threads'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { SqliteAnswer, SqliteRequest, SqliteSettings } from './sqlite-protocol.ts'

/** What a SQLite database is opened with. */
interface SqliteDialectSettings extends SqliteSettings {
  /** How long a statement may take, with those before it, in milliseconds; null = as long as it needs. */
  readonly timeoutMs: number | null
}

/** The dialect of a file; its one connection is opened when it is first used. */
export const workerSqliteDialect = (settings: SqliteDialectSettings): Dialect => ({
  createAdapter: () => new TransactionalAdapter(),
  createDriver: () => new WorkerDriver(settings),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
})

/** Migrates in one transaction, which other processes wait for. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** One connection, for one user after the other. */
class WorkerDriver implements Driver {
  readonly #settings: SqliteDialectSettings
  #connection: WorkerConnection | null = null
  #last: Promise<void> = Promise.resolve()
  #release: (() => void) | null = null

  constructor(settings: SqliteDialectSettings) {
    this.#settings = settings
  }

  readonly init = (): Promise<void> => Promise.resolve()

  readonly acquireConnection = async (): Promise<DatabaseConnection> => {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    this.#release = resolve
    if (this.#connection?.isBroken !== false)
      this.#connection = new WorkerConnection(this.#settings)
    return this.#connection
  }

  readonly releaseConnection = (): Promise<void> => {
    this.#release?.()
    return Promise.resolve()
  }

  /** At once the one that writes: a transaction that first reads might fail when it writes. */
  readonly beginTransaction = (connection: DatabaseConnection): Promise<void> =>
    run(connection, 'begin immediate')

  readonly commitTransaction = (connection: DatabaseConnection): Promise<void> =>
    run(connection, 'commit')

  readonly rollbackTransaction = (connection: DatabaseConnection): Promise<void> =>
    run(connection, 'rollback')

  readonly destroy = async (): Promise<void> => {
    await this.#connection?.close()
    this.#connection = null
  }
}

async function run(connection: DatabaseConnection, statement: string): Promise<void> {
  await connection.executeQuery(CompiledQuery.raw(statement))
}

class WorkerConnection implements DatabaseConnection {
  readonly #worker: Worker
  readonly #timeoutMs: number | null
  #answer: PromiseWithResolvers<SqliteAnswer> | null = null
  #failure: Error | null = null

  constructor({ file, isReader, timeoutMs }: SqliteDialectSettings) {
    this.#timeoutMs = timeoutMs
    const workerData: SqliteSettings = { file, isReader }
    this.#worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      workerData,
    })
    this.#worker.on('message', (answer: SqliteAnswer) => this.#answer?.resolve(answer))
    // The file can't be opened, or the thread died: another connection may do better.
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(new Error('the thread has ended')))
  }

  get isBroken(): boolean {
    return this.#failure !== null
  }

  readonly executeQuery = async <R>({
    sql,
    parameters,
  }: CompiledQuery): Promise<QueryResult<R>> => {
    if (this.#failure !== null) throw this.#failure
    const answering = Promise.withResolvers<SqliteAnswer>()
    this.#answer = answering
    const deadlineMs = this.#timeoutMs === null ? null : Date.now() + this.#timeoutMs
    this.#send({ sql, parameters, deadlineMs })
    const answer = await answering.promise
    if ('rows' in answer)
      return { rows: answer.rows as R[], numAffectedRows: BigInt(answer.changes) }
    throw Object.assign(new Error('the statement failed'), answer)
  }

  // oxlint-disable-next-line require-yield -- nothing here streams
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('statements are not streamed')
  }

  readonly close = async (): Promise<void> => {
    await this.#worker.terminate()
  }

  #send(request: SqliteRequest): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    this.#worker.postMessage(request)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#answer?.reject(this.#failure)
  }
}
