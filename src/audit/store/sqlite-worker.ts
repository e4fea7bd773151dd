// The program of a worker thread: one connection to a SQLite file, one statement at a time.
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import {
  DEADLINE_FUNCTION,
  type SqliteAnswer,
  type SqliteRequest,
  type SqliteSettings,
} from './sqlite-protocol.ts'

const { file, isReader } = workerData as SqliteSettings

/** How long a statement waits for another process's or thread's lock. */
const BUSY_TIMEOUT_MS = 5000

/** Statements that stay prepared. */
const MOST_PREPARED = 20

/** The deadline of the running statement, in epoch milliseconds. */
let deadlineMs = Number.POSITIVE_INFINITY

const database = open()
const prepared = new Map<string, StatementSync>()

function open(): DatabaseSync {
  // SQLite would make a file that others may read.
  if (!isReader) closeSync(openSync(file, 'a', 0o600))
  const opened = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
  if (isReader) opened.exec('pragma query_only = on')
  else opened.exec('pragma journal_mode = wal; pragma synchronous = normal')
  // Nothing else ends a statement of SQLite that is under way.
  opened.function(DEADLINE_FUNCTION, () => {
    if (Date.now() > deadlineMs)
      throw Object.assign(new Error('too long'), { code: 'STORE_TIMEOUT' })
    return 1
  })
  return opened
}

function statementOf(sql: string): StatementSync {
  const known = prepared.get(sql)
  if (known !== undefined) return known
  const [oldest] = prepared.keys()
  if (prepared.size >= MOST_PREPARED && oldest !== undefined) prepared.delete(oldest)
  const statement = database.prepare(sql)
  prepared.set(sql, statement)
  return statement
}

function answerOf({ sql, parameters, deadlineMs: limitMs }: SqliteRequest): SqliteAnswer {
  deadlineMs = limitMs ?? Number.POSITIVE_INFINITY
  try {
    const statement = statementOf(sql)
    const values = parameters as readonly SQLInputValue[]
    if (statement.columns().length > 0) return { rows: statement.all(...values), changes: 0 }
    return { rows: [], changes: Number(statement.run(...values).changes) }
  } catch (error) {
    const { code, errcode } = error as { readonly code?: string; readonly errcode?: number }
    return { code, errcode }
  }
}

if (!parentPort) throw new Error('sqlite-worker.ts runs in a worker thread')
const port = parentPort
const send = (answer: SqliteAnswer): void => port.postMessage(answer)
port.on('message', (request: SqliteRequest) => send(answerOf(request)))
