// A large audit log is read in bounded memory, and in a time that grows as its length does (contract 22.4).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEvents } from '../../../../src/audit/files/read-files.ts'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { parseAuditQuery } from '../../../../src/domain/audit/query.ts'
import { numberedLines } from '../../../support/audit-event-builder.ts'
import { runProgram } from '../../../support/command-process.ts'

const LINES = 100_000
const folder = mkdtempSync(join(tmpdir(), 'audit-many-'))
afterAll(() => rmSync(folder, { recursive: true }))

const small = join(folder, 'small.log')

beforeAll(() => {
  const half = LINES / 2
  const body = { requestObject: { text: 'x'.repeat(100) } }
  writeFileSync(small, numberedLines(0, LINES / 10, body))
  const atMs = Date.UTC(2026, 10, 28, 12) + half * 1000
  writeFileSync(
    join(folder, `${freeBackupName([], atMs)}.gz`),
    gzipSync(numberedLines(0, half, body), { level: 1 }),
  )
  writeFileSync(join(folder, 'audit.log'), numberedLines(half, half, body))
})

test('100,000 lines take no more memory than there is for a tenth of them (22.4)', async () => {
  const args = [
    'audit',
    '--path',
    folder,
    '--until=2026-11-29T00:00:00Z',
    '--limit=1000',
    '-o=json',
  ]
  const limited = { NODE_OPTIONS: '--max-old-space-size=32' }
  const { code, stdout, stderr } = await runProgram(args, limited)
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /^There are older events: go on with --until 2026-11-28T23:43:20\.001Z/,
    ),
  })
  const { items } = JSON.parse(stdout) as { readonly items: readonly { auditID: string }[] }
  expect(items).toHaveLength(1000)
  expect([items[0]?.auditID, items[999]?.auditID]).toEqual(['id-43199', 'id-42200'])
})

test('100,000 lines take about ten times as long as 10,000 (22.4)', async () => {
  const millisecondsFor = async (path: string, numberOf: string): Promise<number> => {
    const parsed = parseAuditQuery([['name', numberOf]], 0)
    if (parsed.kind === 'malformed') throw new Error(parsed.fault)
    const start = process.cpuUsage()
    const { events, faults } = await readEvents(path, parsed.query)
    expect({ count: events.length, faults }).toEqual({ count: 0, faults: [] })
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
  await millisecondsFor(small, 'none')
  const tenth = await millisecondsFor(small, 'none')
  expect(await millisecondsFor(folder, 'none')).toBeLessThan(tenth * 40)
})
