import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { workerSqliteDialect } from '../../../../src/audit/store/sqlite-dialect.ts'
import { DEADLINE_FUNCTION } from '../../../../src/audit/store/sqlite-protocol.ts'
import { storeErrorOf } from '../../../../src/audit/store/store-error.ts'

function open(fields: { readonly isReader?: boolean; readonly timeoutMs?: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'audit-sqlite-'))
  const { isReader = false, timeoutMs = null } = fields
  const dialect = workerSqliteDialect({ file: join(folder, 'audit.db'), isReader, timeoutMs })
  const db = new Kysely<Record<string, never>>({ dialect })
  onTestFinished(async () => {
    await db.destroy()
    rmSync(folder, { recursive: true, force: true })
  })
  return db
}

const failureOf = async (running: Promise<unknown>): Promise<string> =>
  storeErrorOf(await running.catch((error: unknown) => error)).failure

test('a statement that takes too long is ended, and the next one is not (22.4)', async () => {
  const db = open({ timeoutMs: 100 })
  const endless = sql`with recursive n(i) as (select 1 union all select i + 1 from n where ${sql.raw(DEADLINE_FUNCTION)}() = 1) select count(*) from n`
  expect(await failureOf(endless.execute(db))).toBe('timeout')
  expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
})

test('a connection that only answers questions does not write (22.4)', async () => {
  const db = open({ isReader: true })
  await expect(sql`create table t (a text)`.execute(db)).rejects.toThrow('the statement failed')
})

test('statements wait for a transaction that is open, and a failed one leaves nothing (22.3)', async () => {
  const db = open({})
  await sql`create table t (a text)`.execute(db)
  const entered = Promise.withResolvers<void>()
  const leave = Promise.withResolvers<void>()
  const transaction = db.transaction().execute(async (inside) => {
    await sql`insert into t values ('one')`.execute(inside)
    entered.resolve()
    await leave.promise
    throw new Error('taken back')
  })
  await entered.promise
  const count = sql<{ n: number }>`select count(*) as n from t`.execute(db)
  leave.resolve()
  await expect(transaction).rejects.toThrow('taken back')
  expect((await count).rows).toEqual([{ n: 0 }])
})
