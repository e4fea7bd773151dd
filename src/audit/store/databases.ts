// Connections to the database of an endpoint. Its driver is loaded here, and only here (contract 22.3).
import { readFile } from 'node:fs/promises'
import { CompiledQuery, type Dialect, Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import type { ServerEndpoint, StoreEndpoint } from '../../domain/settings/store-endpoint.ts'
import { connectToStore } from './guarded-socket.ts'
import type { StoreKind, StoreTables } from './schema.ts'
import { workerSqliteDialect } from './sqlite-dialect.ts'

/** One database, by connections that write and by others that only answer questions. */
export interface Databases {
  readonly kind: StoreKind
  readonly writer: Kysely<StoreTables>
  readonly reader: Kysely<StoreTables>
}

/** How long a question may take, in milliseconds: then the database itself ends it. */
export const QUESTION_TIMEOUT_MS = 10_000

/** How long a connection may take to be made, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000

/** How long an idle connection stays open, in milliseconds. */
const IDLE_TIMEOUT_MS = 30_000

interface Purpose {
  readonly connections: number
  /** null = as long as it needs. */
  readonly timeoutMs: number | null
}

/** The follower and the retention. */
const WRITER: Purpose = { connections: 2, timeoutMs: null }
/** As many questions as are answered at a time. */
const READER: Purpose = { connections: 4, timeoutMs: QUESTION_TIMEOUT_MS }

/** The databases of an endpoint; nothing connects before the first statement. */
export function openDatabases(endpoint: StoreEndpoint): Databases {
  const open = (purpose: Purpose): Kysely<StoreTables> =>
    new Kysely<StoreTables>({ dialect: dialectOf(endpoint, purpose) })
  return { kind: endpoint.kind, writer: open(WRITER), reader: open(READER) }
}

/** Closes all connections. */
export async function closeDatabases({ writer, reader }: Databases): Promise<void> {
  await Promise.all([writer.destroy(), reader.destroy()])
}

function dialectOf(endpoint: StoreEndpoint, purpose: Purpose): Dialect {
  if (endpoint.kind === 'sqlite') {
    const { timeoutMs } = purpose
    return workerSqliteDialect({ file: endpoint.file, isReader: timeoutMs !== null, timeoutMs })
  }
  if (endpoint.kind === 'postgres')
    return new PostgresDialect({ pool: () => postgresPool(endpoint, purpose) })
  return new MysqlDialect({
    pool: () => mysqlPool(endpoint, purpose),
    onCreateConnection: async (connection) => {
      await connection.executeQuery(CompiledQuery.raw(mysqlSettings(purpose)))
    },
  })
}

async function postgresPool(endpoint: ServerEndpoint, { connections, timeoutMs }: Purpose) {
  const { host, port, user, password, database } = endpoint
  const { default: pg } = await import('pg')
  const ssl = await tlsOf(endpoint)
  const pool = new pg.Pool({
    host,
    port,
    user,
    password,
    database,
    ssl: ssl ?? false,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    application_name: 'management-operator',
    ...(timeoutMs === null ? {} : { statement_timeout: timeoutMs }),
    stream: () => socketForPostgres(host, port),
  })
  // An idle connection ended: the pool makes another.
  pool.on('error', () => undefined)
  return pool
}

/** The driver calls `connect` of a socket that it was given. */
function socketForPostgres(host: string, port: number) {
  const socket = connectToStore(host, port)
  socket.connect = () => socket
  return socket
}

async function mysqlPool(endpoint: ServerEndpoint, { connections }: Purpose) {
  const { host, port, user, password, database } = endpoint
  const { createPool } = await import('mysql2')
  const ssl = await tlsOf(endpoint)
  return createPool({
    host,
    port,
    user,
    password,
    database,
    ...(ssl === null ? {} : { ssl: { ...ssl, verifyIdentity: endpoint.tls === 'verify-full' } }),
    connectionLimit: connections,
    connectTimeout: CONNECT_TIMEOUT_MS,
    idleTimeout: IDLE_TIMEOUT_MS,
    charset: 'UTF8MB4_BIN',
    // Rows that were there already would count as stored.
    flags: ['-FOUND_ROWS'],
    stream: () => connectToStore(host, port),
  })
}

/**
 * Values are never cut, backslashes escape as the driver has it, and questions end: by a setting of MariaDB, which is a comment
 * to MySQL, or by one of MySQL, which is a comment to MariaDB.
 */
const mysqlSettings = ({ timeoutMs }: Purpose): string =>
  [
    `set session sql_mode = 'STRICT_ALL_TABLES'`,
    ...(timeoutMs === null
      ? []
      : [
          `/*M!100101 , session max_statement_time = ${timeoutMs / 1000} */`,
          `/*!80000 , session max_execution_time = ${timeoutMs} */`,
        ]),
  ].join(' ')

interface TlsSettings {
  readonly rejectUnauthorized: boolean
  readonly minVersion: 'TLSv1.2'
  readonly ca?: string
  readonly checkServerIdentity?: () => undefined
}

async function tlsOf({ tls, rootCertificates }: ServerEndpoint): Promise<TlsSettings | null> {
  if (tls === 'off') return null
  return {
    rejectUnauthorized: tls !== 'require',
    minVersion: 'TLSv1.2',
    ...(rootCertificates === null ? {} : { ca: await readFile(rootCertificates, 'utf8') }),
    ...(tls === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  }
}
