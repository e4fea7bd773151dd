import { describe, expect, test } from 'vitest'
import {
  backupOf,
  freeBackupName,
  backupUpkeep,
  type BackupRetention,
} from '../../../../src/audit/files/backups.ts'

const NOW = Date.parse('2026-11-28T12:00:00.250Z')
const HOUR_MS = 3_600_000
const old = (hours: number): string => freeBackupName([], NOW - hours * HOUR_MS)

test('a backup is named by the time when it was made (22.1)', () => {
  expect(freeBackupName([], NOW)).toBe('audit-2026-11-28T12-00-00.250.log')
  expect(freeBackupName([], NOW - 250)).toBe('audit-2026-11-28T12-00-00.000.log')
  for (const atMs of [0, NOW, NOW - 250, Date.parse('2099-12-31T23:59:59.999Z')])
    expect(backupOf(freeBackupName([], atMs))).toEqual({
      name: freeBackupName([], atMs),
      atMs,
      isCompressed: false,
    })
  expect(backupOf(`${freeBackupName([], NOW)}.gz`)).toMatchObject({ atMs: NOW, isCompressed: true })
})

// biome-ignore format: a table
test.each([
  { name: 'in the millisecond of another', names: [old(0)], is: 'audit-2026-11-28T12-00-00.251.log' },
  { name: 'in the millisecond of an archive', names: [`${old(0)}.gz`, old(1)], is: 'audit-2026-11-28T12-00-00.251.log' },
  { name: 'after the clock was set back by a day', names: [old(-24), old(1)], is: 'audit-2026-11-29T12-00-00.251.log' },
  { name: 'after the clock was set back, and it is 1970', names: [old(0)], nowMs: 0, is: 'audit-2026-11-28T12-00-00.251.log' },
  { name: 'beside the last name that there can be', names: ['audit-9999-12-31T23-59-59.999.log'], is: 'audit-2026-11-28T12-00-00.250.log' },
  { name: 'once the clock is beyond the newest', names: [old(1), old(2)], is: 'audit-2026-11-28T12-00-00.250.log' },
  { name: 'beside files that are no backups', names: ['audit-2099-01-01.log', 'audit.log'], is: 'audit-2026-11-28T12-00-00.250.log' },
])('a backup has a later name than all others: $name (22.1, 22.3)', ({ names, nowMs = NOW, is }) => {
  expect(freeBackupName(names, nowMs)).toBe(is)
})

test.each([
  'audit.log',
  'audit.lock',
  'audit-2026-11-28.log',
  'audit-2026-11-28T12-00-00.log',
  'audit-2026-11-28T12-00-00.250.log.gz.tmp',
  'audit-2026-11-28T12-00-00.250.txt',
  'audit-2026-13-28T12-00-00.250.log',
  'other-2026-11-28T12-00-00.250.log',
  'audit-2026-11-28T12-00-00.250.log\n',
])('%j is no backup, and is never touched (22.1)', (name) => {
  expect(backupOf(name)).toBeNull()
  const retention = { maxBackups: 1, maxAge: 1, compress: true }
  expect(backupUpkeep([name, old(0)], retention, NOW).remove).toEqual([])
})

describe('backups (22.1)', () => {
  const ALL: BackupRetention = { maxBackups: 0, maxAge: 0, compress: false }
  const gz = (name: string): string => `${name}.gz`

  // biome-ignore format: a table
  test.each([
    { name: 'all stay without limits', names: [old(0), old(24_000)], retention: ALL, remove: [], compress: [] },
    { name: 'the oldest go by number', names: [old(1), old(3), old(2)], retention: { ...ALL, maxBackups: 2 }, remove: [old(3)], compress: [] },
    { name: 'those at the limit stay', names: [old(1), old(2)], retention: { ...ALL, maxBackups: 2 }, remove: [], compress: [] },
    { name: 'the oldest go by age', names: [old(23), old(24), old(25)], retention: { ...ALL, maxAge: 1 }, remove: [old(25)], compress: [] },
    { name: 'either limit removes', names: [old(1), old(2), old(25)], retention: { ...ALL, maxAge: 1, maxBackups: 1 }, remove: [old(2), old(25)], compress: [] },
    { name: 'a backup and its .gz count once', names: [gz(old(1)), old(1), old(2), old(3)], retention: { ...ALL, maxBackups: 2 }, remove: [old(3)], compress: [] },
    { name: 'what stays is compressed once', names: [old(1), gz(old(2)), old(3)], retention: { ...ALL, compress: true, maxBackups: 2 }, remove: [old(3)], compress: [old(1)] },
    { name: 'compressed ones stay when compression is off', names: [gz(old(1))], retention: ALL, remove: [], compress: [] },
    { name: 'a half-made .gz is made again', names: [gz(old(1)), old(1)], retention: { ...ALL, compress: true }, remove: [], compress: [old(1)] },
    { name: 'backups of a clock that was set back stay by age', names: [old(-1), old(-2), old(25)], retention: { ...ALL, maxAge: 1 }, remove: [old(25)], compress: [] },
    { name: 'backups of a clock that was set back go by number, oldest first', names: [old(-1), old(-2), old(-3)], retention: { ...ALL, maxBackups: 2 }, remove: [old(-1)], compress: [] },
    { name: 'a backup of the future stays', names: [old(-5), old(1)], retention: { ...ALL, maxAge: 1, maxBackups: 1 }, remove: [old(1)], compress: [] },
  ])('$name', ({ names, retention, remove, compress }) => {
    expect(backupUpkeep(names, retention, NOW)).toEqual({ remove, compress })
    expect(backupUpkeep(names.toReversed(), retention, NOW)).toEqual({ remove, compress })
  })
})
