// The schema of the data store, brought to the version of this program by one replica at a time (contract 22.3).
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Databases } from './databases.ts'
import { migrationsFor } from './schema.ts'
import { StoreError } from './store-error.ts'

const MIGRATIONS_TABLE = 'audit_migrations'
const LOCK_TABLE = 'audit_migration_lock'

/**
 * Migrates; waits for another replica that does.
 *
 * @throws StoreError when a newer program made the schema, which is then left alone; the driver's error
 */
export async function migrate({ kind, writer }: Databases): Promise<void> {
  const migrations = migrationsFor(kind)
  const migrator = new Migrator({
    db: writer,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
    migrationTableName: MIGRATIONS_TABLE,
    migrationLockTableName: LOCK_TABLE,
  })
  await refuseNewer({ kind, writer }, Object.keys(migrations))
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return
  // Another replica may have brought it further meanwhile.
  await refuseNewer({ kind, writer }, Object.keys(migrations))
  throw error
}

async function refuseNewer(
  { writer }: Pick<Databases, 'kind' | 'writer'>,
  known: readonly string[],
): Promise<void> {
  const tables = await writer.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === MIGRATIONS_TABLE)) return
  const { rows } = await sql<{
    name: string
  }>`select name from ${sql.table(MIGRATIONS_TABLE)}`.execute(writer)
  const newer = rows.map(({ name }) => name).filter((name) => !known.includes(name))
  if (newer.length > 0)
    throw new StoreError(
      'newer',
      'the schema of the data store is newer than this program: it is left alone',
    )
}
