import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import type { LogFile } from '../../../../src/audit/follower/position.ts'
import { UnreadFiles } from '../../../../src/audit/follower/unread-files.ts'
import { temporaryFolder } from '../files/sink-folder.ts'

/** Backups of ten lines of 1 KiB each, and what counts them. */
function backups() {
  const folder = temporaryFolder()
  const file = (atMs: number): LogFile => ({
    name: freeBackupName([], atMs),
    atMs,
    isCompressed: false,
  })
  const unread = new UnreadFiles()
  return {
    unread,
    write: (atMs: number) => writeFileSync(join(folder, file(atMs).name), 'x'.repeat(10 * 1024)),
    remove: (atMs: number) => rmSync(join(folder, file(atMs).name)),
    survey: (...times: readonly number[]) => unread.survey(folder, times.map(file)),
  }
}

describe('a backup that the spool drops (23.1)', () => {
  test('counts once, whether a survey misses it before or behind the report', async () => {
    const { unread, write, remove, survey } = backups()
    for (const atMs of [1, 2]) write(atMs)
    await survey(1, 2)
    remove(1)
    await survey(2)
    unread.isDropped(1, 10 * 1024)
    expect(unread.take()).toBe(10)
    remove(2)
    unread.isDropped(2, 10 * 1024)
    await survey()
    expect(unread.take()).toBe(10)
  })

  test('counts where no survey has seen it', async () => {
    const { unread, survey } = backups()
    await survey()
    unread.isDropped(5, 20 * 1024)
    unread.isDropped(3, 30 * 1024)
    expect(unread.take()).toBe(50)
  })

  test('counts once where it goes during a survey', async () => {
    const { unread, survey } = backups()
    // The survey has its name, and it is no longer there.
    await survey(1)
    unread.isDropped(1, 10 * 1024)
    await survey()
    expect(unread.take()).toBe(10)
  })
})
