import { describe, expect, test } from 'vitest'
import { backupUpkeep, freeBackupName } from '../../../../src/audit/files/backups.ts'
import { linesWithRoom, overflowOf } from '../../../../src/audit/files/spool.ts'

const NOW = Date.parse('2026-11-28T12:00:00.250Z')
const HOUR_MS = 3_600_000
const at = (hours: number): number => NOW - hours * HOUR_MS
const old = (hours: number): string => freeBackupName([], at(hours))

describe('backups that are unsent (23.1)', () => {
  const ALL = { maxBackups: 0, maxAge: 0, compress: false }

  // biome-ignore format: a table
  test.each([
    { name: 'stay beyond maxBackups', retention: { ...ALL, maxBackups: 1 }, names: [old(1), old(2), old(3)], unsent: [2, 1], remove: [old(3)], compress: [] },
    { name: 'stay beyond maxAge', retention: { ...ALL, maxAge: 1 }, names: [old(1), old(30), old(40), old(50)], unsent: [40, 30, 1], remove: [old(50)], compress: [] },
    { name: 'stay compressed too', retention: { ...ALL, maxBackups: 1 }, names: [old(1), `${old(2)}.gz`, `${old(3)}.gz`], unsent: [2, 1], remove: [`${old(3)}.gz`], compress: [] },
    { name: 'are compressed', retention: { ...ALL, maxBackups: 1, compress: true }, names: [old(1), old(2)], unsent: [2, 1], remove: [], compress: [old(1), old(2)] },
    { name: 'count as others do', retention: { ...ALL, maxBackups: 2 }, names: [old(1), old(2), old(3)], unsent: [2, 1], remove: [old(3)], compress: [] },
    { name: 'leave as others do once they are sent', retention: { ...ALL, maxBackups: 1 }, names: [old(1), old(2), old(3)], unsent: [], remove: [old(2), old(3)], compress: [] },
  ])('$name', ({ retention, names, unsent, remove, compress }) => {
    expect(backupUpkeep(names, retention, NOW, new Set(unsent.map(at)))).toEqual({ remove, compress })
  })
})

describe('a spool beyond its limit (23.1)', () => {
  const live = (bytes: number) => ({ atMs: null, bytes })

  // biome-ignore format: a table
  test.each([
    { name: 'drops nothing at the limit', files: [{ atMs: 1, bytes: 60 }, live(40)], drops: [] },
    { name: 'drops the oldest', files: [{ atMs: 1, bytes: 10 }, { atMs: 2, bytes: 60 }, live(40)], drops: [1] },
    { name: 'drops as many as it takes', files: [{ atMs: 1, bytes: 10 }, { atMs: 2, bytes: 10 }, { atMs: 3, bytes: 75 }, live(20)], drops: [1, 2] },
    { name: 'drops all backups where it must', files: [{ atMs: 1, bytes: 10 }, { atMs: 2, bytes: 10 }, live(200)], drops: [1, 2] },
    { name: 'never drops the file that lines are appended to', files: [live(200)], drops: [] },
    { name: 'drops nothing of nothing', files: [], drops: [] },
  ])('$name', ({ files, drops }) => {
    expect(overflowOf(files, 100).map(({ atMs }) => atMs)).toEqual(drops)
  })
})

describe('the room of a spool (23.1)', () => {
  const spool = (whenFull: 'refuse' | 'drop', unsentBytes: number) => ({
    whenFull,
    unsentBytes,
    limitBytes: 160,
  })

  // biome-ignore format: a table
  test.each([
    { name: 'all lines fit', lines: ['aaa', 'bbb'], room: spool('refuse', 100), wasFull: false, count: 2 },
    { name: 'the last byte counts', lines: ['aaa', 'bbb'], room: spool('refuse', 152), wasFull: false, count: 2 },
    { name: 'the first lines fit', lines: ['aaa', 'bbb'], room: spool('refuse', 153), wasFull: false, count: 1 },
    { name: 'bytes count, not characters', lines: ['aaa', '€€€'], room: spool('refuse', 150), wasFull: false, count: 1 },
    { name: 'no line fits', lines: ['aaa'], room: spool('refuse', 157), wasFull: false, count: null },
    { name: 'a spool that was full takes none until a sixteenth is free', lines: ['aaa'], room: spool('refuse', 151), wasFull: true, count: null },
    { name: 'a spool that was full takes lines then', lines: ['aaa'], room: spool('refuse', 150), wasFull: true, count: 1 },
    { name: 'a full one is not opened', lines: [], room: spool('refuse', 151), wasFull: true, count: null },
    { name: 'one with room is opened', lines: [], room: spool('refuse', 0), wasFull: true, count: 0 },
    { name: 'one that drops has room for all', lines: ['aaa', 'bbb'], room: spool('drop', 999), wasFull: true, count: 2 },
  ])('$name', ({ lines, room, wasFull, count }) => {
    expect(linesWithRoom(lines, { spool: room, wasFull })).toBe(count)
  })
})
