// The tables of the data store, and the migrations that make them (contract 22.3). A migration that was released never changes.
import { type ColumnType, type Generated, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The kinds of database. */
export type StoreKind = 'sqlite' | 'postgres' | 'mysql'

/** A bigint: drivers give a number, or decimal digits. */
type BigIntColumn = ColumnType<number | string, number, number>

/** A recorded event. Texts are as `columnText` makes them; null = the event has no such field. */
interface AuditEventTable {
  readonly id: Generated<number | string>
  /** The replica that recorded it, or `agent:<cluster>`. */
  readonly source: string
  readonly audit_id: string
  readonly stage: string
  /** Milliseconds since 1970. */
  readonly stage_time: BigIntColumn
  readonly received_time: BigIntColumn
  readonly level: string
  readonly verb: string
  readonly username: string
  readonly key_name: string | null
  readonly key_id: string | null
  readonly target: string | null
  readonly cluster: string | null
  readonly project: string | null
  readonly namespace: string | null
  readonly api_group: string | null
  readonly resource: string | null
  readonly name: string | null
  readonly code: number | null
  /** The line. */
  readonly event: string
}

/** How far a follower has read the files of its replica. */
interface AuditPositionTable {
  readonly source: string
  /** JSON. */
  readonly position: string
}

/** All tables. */
export interface StoreTables {
  readonly audit_events: AuditEventTable
  readonly audit_positions: AuditPositionTable
}

/** Characters of a column of text; in MySQL an index has room for three of them. */
export const COLUMN_CHARACTERS = 220

/** The indexes: for questions without a filter, and for filters that few events meet. A page begins with the newest. */
const INDEXES = {
  audit_events_by_time: ['stage_time', 'id'],
  audit_events_by_audit_id: ['audit_id'],
  audit_events_by_username: ['username', 'stage_time', 'id'],
  audit_events_by_key_name: ['key_name', 'stage_time', 'id'],
  audit_events_by_key_id: ['key_id', 'stage_time', 'id'],
  audit_events_by_project: ['project', 'stage_time', 'id'],
  audit_events_by_namespace: ['namespace', 'stage_time', 'id'],
  audit_events_by_name: ['name', 'stage_time', 'id'],
  audit_events_by_code: ['code', 'stage_time', 'id'],
} as const

/** The migrations by name, in the order of their names, which begin with the version of the schema that each makes. */
export const migrationsFor = (kind: StoreKind): Readonly<Record<string, Migration>> => ({
  '0001-events': { up: (db) => makeTables(db, kind) },
})

/** In MySQL each statement commits by itself: each is one that may be done twice, so a crash leaves nothing half-made. */
async function makeTables(db: Kysely<unknown>, kind: StoreKind): Promise<void> {
  const indexes = Object.entries(INDEXES)
  if (kind === 'mysql') {
    await positionsTable(db).modifyEnd(MYSQL_OPTIONS).execute()
    await indexes
      .reduce((table, [name, columns]) => table.addIndex(name, [...columns]), eventsTable(db, kind))
      .modifyEnd(MYSQL_OPTIONS)
      .execute()
    return
  }
  await positionsTable(db).execute()
  await eventsTable(db, kind).execute()
  for (const [name, columns] of indexes)
    await db.schema
      .createIndex(name)
      .on('audit_events')
      .columns([...columns])
      .execute()
}

/** Texts are equal when their bytes are. */
const MYSQL_OPTIONS = sql`engine = InnoDB character set utf8mb4 collate utf8mb4_bin`

const TEXT = `varchar(${COLUMN_CHARACTERS})` as const
const WORD = 'varchar(32)'

const positionsTable = (db: Kysely<unknown>) =>
  db.schema
    .createTable('audit_positions')
    .ifNotExists()
    .addColumn('source', TEXT, (column) => column.notNull().primaryKey())
    .addColumn('position', 'text', (column) => column.notNull())

const eventsTable = (db: Kysely<unknown>, kind: StoreKind) =>
  db.schema
    .createTable('audit_events')
    .ifNotExists()
    .addColumn('id', ID_TYPE[kind], (column) =>
      kind === 'postgres' ? column.primaryKey() : column.primaryKey().autoIncrement(),
    )
    .addColumn('source', TEXT, (column) => column.notNull())
    .addColumn('audit_id', TEXT, (column) => column.notNull())
    .addColumn('stage', WORD, (column) => column.notNull())
    .addColumn('stage_time', 'bigint', (column) => column.notNull())
    .addColumn('received_time', 'bigint', (column) => column.notNull())
    .addColumn('level', WORD, (column) => column.notNull())
    .addColumn('verb', TEXT, (column) => column.notNull())
    .addColumn('username', TEXT, (column) => column.notNull())
    .addColumn('key_name', TEXT)
    .addColumn('key_id', TEXT)
    .addColumn('target', TEXT)
    .addColumn('cluster', TEXT)
    .addColumn('project', TEXT)
    .addColumn('namespace', TEXT)
    .addColumn('api_group', TEXT)
    .addColumn('resource', TEXT)
    .addColumn('name', TEXT)
    .addColumn('code', 'integer')
    .addColumn('event', kind === 'mysql' ? sql`longtext` : 'text', (column) => column.notNull())
    .addUniqueConstraint('audit_events_once', ['source', 'audit_id', 'stage'])

/** SQLite gives an id a second time where its type is another one. */
const ID_TYPE = { sqlite: 'integer', postgres: 'bigserial', mysql: 'bigint' } as const
