import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { eventLines } from '../../../support/audit-store-events.ts'
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
})
