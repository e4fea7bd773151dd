import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import type { Databases } from '../../../../src/audit/store/databases.ts'
import { queryEvents } from '../../../../src/audit/store/query-events.ts'
import type { StoreTables } from '../../../../src/audit/store/schema.ts'
import { workerSqliteDialect } from '../../../../src/audit/store/sqlite-dialect.ts'
import { storeErrorOf } from '../../../../src/audit/store/store-error.ts'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { AuditFollower } from '../../../../src/audit/follower/follower.ts'
import { eventually } from '../../../support/eventually.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { countPerTurn, manualClock, tickingClock } from '../../../support/manual-clock.ts'
import { auditQuery, EVENTS_FROM_MS, eventLines } from '../../../support/audit-store-events.ts'
import { dataStoreCases } from './data-store-cases.ts'

const folder = mkdtempSync(join(tmpdir(), 'audit-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function newFile(): string {
  files += 1
  return join(folder, `${files}.db`)
}

function storeOf(file: string): DataStore {
  const store = new DataStore({ kind: 'sqlite', file }, systemClock())
  onTestFinished(() => store.close())
  return store
}

describe('SQLite', () => {
  dataStoreCases(() => Promise.resolve(storeOf(newFile())))

  test('the file is read by its owner alone (22.3)', async () => {
    const file = newFile()
    await storeOf(file).writeEvents({ source: 's', lines: eventLines(0, 1), position: 'p' })
    for (const end of ['', '-wal', '-shm'])
      expect(statSync(`${file}${end}`).mode & 0o777).toBe(0o600)
  })

  test('the lines of a batch leave turns of the event loop to requests (22.3)', async () => {
    const clock = tickingClock(EVENTS_FROM_MS, 10)
    const store = new DataStore({ kind: 'sqlite', file: newFile() }, clock)
    onTestFinished(() => store.close())
    const { count, most, all } = countPerTurn()
    const lines = eventLines(0, 1000)
    const read = function* (): Generator<string> {
      for (let at = 0; at < lines.length; at += 1) {
        count()
        yield lines[at] ?? ''
      }
    }
    const counted = Object.assign([...lines], { [Symbol.iterator]: read })
    await store.writeEvents({ source: 's', lines: counted, position: 'p' })
    expect(all()).toBe(1000)
    expect(most()).toBeLessThan(5)
  })

  test('a question whose time is over looks at no further event (22.4)', async () => {
    const file = newFile()
    await storeOf(file).writeEvents({ source: 's', lines: eventLines(0, 5), position: 'p' })
    const dialect = workerSqliteDialect({ file, isReader: true, timeoutMs: -1 })
    const reader = new Kysely<StoreTables>({ dialect })
    onTestFinished(() => reader.destroy())
    const databases: Databases = { kind: 'sqlite', writer: reader, reader }
    const query = { ...auditQuery({ verb: 'none' }), after: POSITION_AT_END }
    const failure = await queryEvents(databases, query).catch((error: unknown) => error)
    expect(storeErrorOf(failure).failure).toBe('timeout')
  })

  test('replicas that migrate at once make one schema (22.3)', async () => {
    const file = newFile()
    const stores = [storeOf(file), storeOf(file), storeOf(file)]
    const stored = await Promise.all(
      stores.map((store, at) =>
        store.writeEvents({ source: 's', lines: eventLines(at, 1), position: 'p' }),
      ),
    )
    expect(stored.map((one) => one.stored)).toEqual([1, 1, 1])
  })

  test('a schema that a newer program made is left alone, and said (22.3)', async () => {
    const file = newFile()
    await storeOf(file).writeEvents({ source: 's', lines: eventLines(0, 1), position: 'p' })
    const database = new DatabaseSync(file)
    const add = `insert into audit_migrations (name, timestamp) values ('0002-of-tomorrow', '2027')`
    database.exec(add)
    const store = storeOf(file)
    await expect(store.queryEvents(auditQuery())).rejects.toThrow('is newer than this program')
    database.exec(`delete from audit_migrations where name = '0002-of-tomorrow'`)
    database.close()
    expect((await store.queryEvents(auditQuery())).events).toHaveLength(1)
  })

  test('a batch that cannot be stored leaves the position where it was (22.3)', async () => {
    const file = newFile()
    const store = storeOf(file)
    await store.writeEvents({ source: 's', lines: eventLines(0, 1), position: 'one' })
    const database = new DatabaseSync(file)
    database.exec('alter table audit_events rename to elsewhere')
    const failing = store.writeEvents({ source: 's', lines: eventLines(1, 1), position: 'two' })
    await expect(failing).rejects.toThrow('the data store cannot be used')
    expect(await store.readPosition('s')).toBe('one')
    database.exec('alter table elsewhere rename to audit_events')
    database.close()
    const again = await store.writeEvents({ source: 's', lines: eventLines(0, 2), position: 'two' })
    expect(again).toEqual({ stored: 1, double: 1, refused: 0 })
    expect(await store.readPosition('s')).toBe('two')
  })

  test('a file that cannot be opened is named by its code, and is opened once it can be (22.3)', async () => {
    const file = join(folder, 'later', 'audit.db')
    const store = storeOf(file)
    const failure = await store.readPosition('s').catch((error: unknown) => error)
    expect(String(failure)).toBe('StoreError: the data store cannot be used (ENOENT)')
    mkdirSync(join(folder, 'later'))
    expect(await store.readPosition('s')).toBeNull()
  })

  test('a question finds what a follower read within 2 s, while files rotate (22.3)', async () => {
    const directory = mkdtempSync(join(folder, 'log-'))
    const store = storeOf(newFile())
    const stop = new AbortController()
    const counts = new Map<string, number>()
    const clock = manualClock(EVENTS_FROM_MS)
    const follower = new AuditFollower({
      store,
      directory,
      source: 'gateway-0',
      clock,
      observer: {
        counted: (result, count) => counts.set(result, (counts.get(result) ?? 0) + count),
        failed: () => counts.set('failed', 1),
        healed: () => undefined,
      },
    })
    const running = follower.run(stop.signal)
    onTestFinished(async () => {
      stop.abort()
      await running
    })
    for (const round of [0, 1, 2]) {
      const lines = eventLines(round * 100, 100).map((line) => `${line}\n`)
      appendFileSync(join(directory, 'audit.log'), lines.join(''))
      const question = auditQuery({ auditID: `id-${round * 100 + 99}` })
      let leftMs = 2000
      const found = async () => {
        if ((await store.queryEvents(question)).events.length === 1) return true
        // While it reads and stores, the follower waits for no timer, and its time stands still.
        if (clock.pending() === 0 || leftMs === 0) return undefined
        leftMs -= 100
        await clock.advance(100)
        return undefined
      }
      await eventually('the last event is found', found, { withinMs: 30_000 })
      renameSync(
        join(directory, 'audit.log'),
        join(directory, freeBackupName([], EVENTS_FROM_MS + round)),
      )
    }
    expect([...counts]).toEqual([['stored', 300]])
  })
})

const POSITION_AT_END = {
  stageTimeMs: Number.MAX_SAFE_INTEGER,
  id: Number.MAX_SAFE_INTEGER,
  snapshotId: Number.MAX_SAFE_INTEGER,
  store: '',
}
