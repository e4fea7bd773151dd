import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { eventuallyPasses } from '../../../support/eventually.ts'
import {
  ALL,
  appendAll,
  bytes,
  namesIn,
  NOW,
  sinkIn,
  temporaryFolder,
  textsIn,
} from './sink-folder.ts'

const HOUR_MS = 3_600_000
const old = (hours: number): string => freeBackupName([], NOW - hours * HOUR_MS)
const backups = async (path: string): Promise<readonly string[]> =>
  (await namesIn(path)).filter((name) => name !== 'audit.log')
const soon = { withinMs: 5000 }

/** A folder with these backups, each with its own name as its line. */
async function folderWith(names: readonly string[]): Promise<string> {
  const path = temporaryFolder()
  for (const name of names) {
    const text = `${name.replace('.gz', '')}\n`
    await writeFile(join(path, name), name.endsWith('.gz') ? gzipSync(text) : text)
  }
  return path
}

/** Waits until the folder has these backups. */
const expectBackups = (path: string, names: readonly string[]): Promise<void> =>
  eventuallyPasses(
    'the backups are tidied',
    async () => expect(await backups(path)).toEqual(names.toSorted()),
    soon,
  )

describe('backups are removed (22.1)', () => {
  test('at start', async () => {
    const path = await folderWith([old(1), old(2), old(3)])
    const { sink, upkeepFailures } = sinkIn({ path, maxBackups: 2 })
    await sink.open()
    await expectBackups(path, [old(1), old(2)])
    expect(upkeepFailures).toEqual([])
  })

  test('at each rotation', async () => {
    const { path, sink, clock } = sinkIn({ maxBackups: 2, maxSize: bytes(4) })
    await sink.open()
    for (const line of ['one', 'two', 'thr', 'fou', 'fiv']) {
      await clock.advance(1000)
      await sink.append([line])
    }
    await expectBackups(path, [freeBackupName([], NOW + 4000), freeBackupName([], NOW + 5000)])
    expect(Object.values(await textsIn(path)).toSorted()).toEqual(['fiv\n', 'fou\n', 'thr\n'])
  })

  test('at a change of the settings', async () => {
    const path = await folderWith([old(1), old(2), old(3)])
    const { sink, upkeepFailures } = sinkIn({ path })
    await sink.open()
    sink.changeRetention({ ...ALL, maxBackups: 1 })
    await expectBackups(path, [old(1)])
    expect(upkeepFailures).toEqual([])
  })

  test('every ten minutes', async () => {
    const path = await folderWith([old(1), old(23.9)])
    const { sink, clock } = sinkIn({ path, maxAge: 1 })
    await sink.open()
    await clock.advance(599_999)
    expect(await backups(path)).toEqual([old(23.9), old(1)])
    await clock.advance(1)
    await expectBackups(path, [old(1)])
  })

  test('and nothing else is, also links and folders of their names', async () => {
    const path = await folderWith([old(1), 'audit.log.1', 'notes.txt', 'audit-2026-11-28.log'])
    const elsewhere = join(temporaryFolder(), 'other')
    await writeFile(elsewhere, 'theirs')
    await symlink(elsewhere, join(path, old(48)))
    await mkdir(join(path, old(49)))
    const before = await backups(path)
    const { sink } = sinkIn({ path, maxAge: 1, maxBackups: 1, compress: true })
    await sink.open()
    await expectBackups(path, [...before.filter((name) => name !== old(1)), `${old(1)}.gz`])
    expect(await readFile(elsewhere, 'utf8')).toBe('theirs')
  })
})

describe('backups are compressed (22.1)', () => {
  test('by gzip, readable by their owner alone, and the archive takes the place of the file', async () => {
    const path = await folderWith([old(1), old(2), `${old(3)}.gz`])
    const { sink } = sinkIn({ path, compress: true })
    await sink.open()
    await expectBackups(
      path,
      [1, 2, 3].map((hours) => `${old(hours)}.gz`),
    )
    for (const hours of [1, 2, 3])
      expect(gunzipSync(await readFile(join(path, `${old(hours)}.gz`))).toString()).toBe(
        `${old(hours)}\n`,
      )
  })

  test('once more where a crash left a file beside its archive, or an archive in the making', async () => {
    const path = await folderWith([old(1), old(2)])
    await writeFile(join(path, `${old(1)}.gz`), 'half')
    await writeFile(join(path, `${old(2)}.gz.tmp`), 'half')
    await writeFile(join(path, 'other.gz.tmp'), 'theirs')
    const { sink } = sinkIn({ path, compress: true })
    await sink.open()
    await expectBackups(path, [`${old(1)}.gz`, `${old(2)}.gz`, 'other.gz.tmp'])
    expect(await textsIn(path)).toMatchObject({
      [`${old(1)}.gz`]: `${old(1)}\n`,
      [`${old(2)}.gz`]: `${old(2)}\n`,
    })
  })

  test('beside the writes, and none is lost when many come meanwhile', async () => {
    const { path, sink } = sinkIn({ compress: true, maxSize: bytes(64 * 1024) })
    await sink.open()
    const lines = Array.from({ length: 2000 }, (_, place) => `${place} `.padEnd(500, 'x'))
    await appendAll(sink, lines)
    await eventuallyPasses(
      'all are compressed',
      async () => expect((await backups(path)).filter((name) => !name.endsWith('.gz'))).toEqual([]),
      soon,
    )
    const texts = Object.values(await textsIn(path))
      .join('')
      .split('\n')
      .slice(0, -1)
    expect(texts.toSorted()).toEqual(lines.toSorted())
  })
})

test('upkeep that fails is reported once, fails no write, and is tried again (22.1)', async () => {
  const path = await folderWith([old(1), old(2)])
  const { sink, clock, upkeepFailures } = sinkIn({ path, compress: true })
  // No archive can be made under this name.
  await mkdir(join(path, `${old(2)}.gz`))
  await sink.open()
  await eventuallyPasses('it failed', () => expect(upkeepFailures).toHaveLength(1), soon)
  await clock.advance(600_000)
  await sink.append(['one'])
  await expectBackups(path, [`${old(1)}.gz`, old(2), `${old(2)}.gz`])
  expect(upkeepFailures.map((cause) => (cause as NodeJS.ErrnoException).code)).toEqual(['EISDIR'])
})
