import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { sql } from 'kysely'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import { closeDatabases, openDatabases } from '../../../../src/audit/store/databases.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { auditQuery, eventLine, eventLines } from '../../../support/audit-store-events.ts'
import {
  type DatabaseKind,
  DatabaseServer,
  ensureDatabase,
  PASSWORD,
} from '../../../support/database-server.ts'
import { eventually } from '../../../support/eventually.ts'
import { prepareWith, programOrSkip } from '../../../support/program-or-skip.ts'
import { dataStoreCases } from './data-store-cases.ts'

const MINUTE_MS = 60_000
const SOURCE = 'gateway-0'
const batch = (lines: readonly string[]) => ({ source: SOURCE, lines, position: 'p' })

const KINDS: readonly DatabaseKind[] = ['postgres', 'mariadb']
const packages = new Map<DatabaseKind, string>()
for (const kind of KINDS)
  packages.set(kind, await programOrSkip((log) => ensureDatabase(kind, log)))

describe.each(KINDS)('%s', (kind) => {
  let server: DatabaseServer
  prepareWith(
    [packages.get(kind) ?? ''],
    async () => {
      server = await DatabaseServer.create(kind, packages.get(kind) ?? '')
    },
    2 * MINUTE_MS,
  )
  afterAll(() => server?.remove())

  function storeOf(fields: Partial<ReturnType<DatabaseServer['endpoint']>> = {}): DataStore {
    const store = new DataStore({ ...server.endpoint(), ...fields }, systemClock())
    onTestFinished(() => store.close())
    return store
  }

  /** Statements of the tests themselves. */
  async function execute(...statements: readonly string[]): Promise<void> {
    const databases = openDatabases(server.endpoint())
    for (const statement of statements) await sql.raw(statement).execute(databases.writer)
    await closeDatabases(databases)
  }

  const dropAll = (): Promise<void> =>
    execute(
      ...['audit_events', 'audit_positions', 'audit_migrations', 'audit_migration_lock'].map(
        (table) => `drop table if exists ${table}`,
      ),
    )

  async function empty(): Promise<DataStore> {
    await dropAll()
    return storeOf()
  }

  dataStoreCases(empty)

  test('two replicas that migrate at once make one schema, and both go on (22.3)', async () => {
    await dropAll()
    const stores = Array.from({ length: 4 }, () => storeOf())
    const stored = await Promise.all(
      stores.map((store, at) => store.writeEvents(batch([eventLine(at)]))),
    )
    expect(stored.map((one) => one.stored)).toEqual([1, 1, 1, 1])
    expect((await storeOf().queryEvents(auditQuery())).events).toHaveLength(4)
  })

  test('a schema that a newer program made is left alone, and said (22.3)', async () => {
    const store = await empty()
    await store.writeEvents(batch([eventLine(0)]))
    await execute(
      `insert into audit_migrations (name, timestamp) values ('0002-of-tomorrow', '2027-01-01')`,
    )
    await expect(storeOf().writeEvents(batch([eventLine(1)]))).rejects.toThrow(
      'the schema of the data store is newer than this program: it is left alone',
    )
    await execute(`delete from audit_migrations where name = '0002-of-tomorrow'`)
    expect((await storeOf().queryEvents(auditQuery())).events).toHaveLength(1)
  })

  test('a wrong password, or no such database, is named without quoting either (22.3)', async () => {
    for (const fields of [{ password: `${PASSWORD}-wrong` }, { database: 'secret-database' }]) {
      const failure = await storeOf(fields)
        .readPosition(SOURCE)
        .catch((error: unknown) => error)
      const text = JSON.stringify(failure, Object.getOwnPropertyNames(failure))
      expect(String(failure)).toMatch(/^StoreError: the data store (refuses the user|has no such)/)
      expect(text).not.toMatch(/canary|secret-database/)
    }
  })

  test('a server without TLS gets no password where TLS is asked for (22.3)', async () => {
    await dropAll()
    for (const tls of ['require', 'verify-ca', 'verify-full'] as const)
      await expect(storeOf({ tls }).readPosition(SOURCE)).rejects.toThrow(
        /^the (?:data store cannot be|TLS connection to the data store fails)/,
      )
    expect(await storeOf().readPosition(SOURCE)).toBeNull()
  })

  test('a store that was restarted is used again, also when it was killed (22.3)', async () => {
    const store = await empty()
    await store.writeEvents(batch([eventLine(0)]))
    await server.stop('SIGKILL')
    await expect(store.writeEvents(batch([eventLine(1)]))).rejects.toThrow(
      'the data store cannot be',
    )
    await server.start()
    expect(await store.writeEvents(batch(eventLines(0, 3)))).toMatchObject({ stored: 2, double: 1 })
    expect((await store.queryEvents(auditQuery())).events).toHaveLength(3)
  })

  test('a row that the store refuses is stored without bodies, or passed over: others are stored (22.3)', async () => {
    const store = await empty()
    await store.readPosition(SOURCE)
    await execute(
      `alter table audit_events add constraint refusing check (event not like '%poison%' and username <> 'eve')`,
    )
    const lines = [
      eventLine(0),
      eventLine(1, { requestObject: 'poison' }),
      eventLine(2),
      eventLine(3, { user: { username: 'eve' } }),
      eventLine(4),
    ]
    const stored = await store.writeEvents({ ...batch(lines), position: 'behind' })
    expect(stored).toEqual({ stored: 4, double: 0, refused: 1 })
    expect(await store.readPosition(SOURCE)).toBe('behind')
    expect((await store.queryEvents(auditQuery({ auditID: 'id-1' }))).events[0]).not.toContain(
      'poison',
    )
  })

  test('a question that waits 10 s is ended in the database, too (22.4)', async () => {
    const store = await empty()
    await store.writeEvents(batch([eventLine(0)]))
    const databases = openDatabases(server.endpoint())
    onTestFinished(() => closeDatabases(databases))
    const [lock, waiting, unlock] = {
      postgres: [
        'lock table audit_events in access exclusive mode',
        `select count(*) as count from pg_stat_activity where wait_event_type = 'Lock'`,
        'commit',
      ],
      mariadb: [
        'lock tables audit_events write',
        `select count(*) as count from information_schema.processlist where state like 'Waiting for table%'`,
        'unlock tables',
      ],
    }[kind] as [string, string, string]
    await databases.writer.connection().execute(async (connection) => {
      if (kind === 'postgres') await sql.raw('begin').execute(connection)
      await sql.raw(lock).execute(connection)
      const count = async (): Promise<number> =>
        Number((await sql.raw<{ count: number }>(waiting).execute(databases.writer)).rows[0]?.count)
      const asked = store.queryEvents(auditQuery()).catch((error: unknown) => error)
      await eventually('it waits', async () => ((await count()) === 1 ? true : undefined), {
        withinMs: 5000,
      })
      expect(await asked).toMatchObject({ failure: 'timeout' })
      await eventually('it is ended', async () => ((await count()) === 0 ? true : undefined), {
        withinMs: 5000,
      })
      await sql.raw(unlock).execute(connection)
    })
    expect((await store.queryEvents(auditQuery())).events).toHaveLength(1)
  })

  test('a store that hangs holds a question for 10 s, and goes on afterwards (22.4)', async () => {
    const store = await empty()
    await store.writeEvents(batch([eventLine(0)]))
    server.hang()
    const failure = await store.queryEvents(auditQuery()).catch((error: unknown) => error)
    server.goOn()
    expect(failure).toMatchObject({ failure: 'timeout' })
    const answer = async () =>
      (await store.queryEvents(auditQuery())).events.length === 1 ? true : undefined
    await eventually('it answers', answer, { withinMs: 30_000 })
  })
})
