import { renameSync, rmSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { ALL, appendAll, bytes, namesIn, sinkIn, temporaryFolder, textsIn } from './sink-folder.ts'

const log = (path: string): Promise<string> => readFile(join(path, 'audit.log'), 'utf8')
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

describe('the directory (22.1)', () => {
  test('is made at start with its subdirectory, and only their owner reads them and their files', async () => {
    const path = join(temporaryFolder(), 'audit')
    const { sink } = sinkIn({ path, subdirectory: 'pod-0' })
    await sink.open()
    await sink.append(['one'])
    expect(await log(join(path, 'pod-0'))).toBe('one\n')
    for (const folder of [path, join(path, 'pod-0')]) expect(await modeOf(folder)).toBe(0o700)
    for (const file of ['audit.log', 'audit.lock'])
      expect(await modeOf(join(path, 'pod-0', file))).toBe(0o600)
    expect(await namesIn(join(path, 'pod-0'))).toEqual(['audit.log'])
  })

  test('is not touched before the sink is opened', async () => {
    const path = join(temporaryFolder(), 'audit')
    const { sink } = sinkIn({ path })
    await sink.close()
    await expect(namesIn(path)).rejects.toThrow('ENOENT')
  })

  test('is not made where its parent is missing, until that is there', async () => {
    const parent = join(temporaryFolder(), 'volume')
    const { sink } = sinkIn({ path: join(parent, 'audit') })
    await expect(sink.open()).rejects.toThrow('ENOENT')
    await mkdir(parent)
    await sink.open()
    await sink.append(['one'])
    expect(await log(join(parent, 'audit'))).toBe('one\n')
  })

  test.each([
    { name: 'a link', make: (path: string) => symlink(temporaryFolder(), path), path: 'audit' },
    {
      name: 'a link with a slash behind it',
      make: (path: string) => symlink(temporaryFolder(), path.slice(0, -1)),
      path: 'audit/',
    },
    {
      name: 'a link that leads nowhere',
      make: (path: string) => symlink('/nowhere', path),
      path: 'audit',
    },
    { name: 'a file', make: (path: string) => writeFile(path, ''), path: 'audit' },
  ])('may not be $name', async ({ make, path: name }) => {
    const path = `${temporaryFolder()}/${name}`
    await make(path)
    await expect(sinkIn({ path }).sink.open()).rejects.toThrow('not a directory')
  })

  test('may not have a link as its subdirectory', async () => {
    const path = temporaryFolder()
    const elsewhere = temporaryFolder()
    await symlink(elsewhere, join(path, 'pod-0'))
    const { sink } = sinkIn({ path, subdirectory: 'pod-0' })
    await expect(sink.open()).rejects.toThrow('not a directory')
    expect(await namesIn(elsewhere)).toEqual([])
  })

  test('is absolute', async () => {
    await expect(sinkIn({ path: 'audit' }).sink.open()).rejects.toThrow('is not absolute')
  })

  test('that goes away later is a failed sink until others make it again', async () => {
    const path = join(temporaryFolder(), 'audit')
    const { sink } = sinkIn({ path })
    await sink.open()
    await sink.append(['one'])
    await rm(path, { recursive: true })
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(sink.append(['two'])).rejects.toThrow('the directory of the audit log is gone')
    await expect(stat(path)).rejects.toThrow('ENOENT')
    await mkdir(path)
    expect(await sink.append(['two'])).toBe(1)
    expect(await log(path)).toBe('two\n')
  })

  test('that went away is made at a change of the settings', async () => {
    const path = join(temporaryFolder(), 'audit')
    const { sink } = sinkIn({ path })
    await sink.open()
    await rm(path, { recursive: true })
    sink.changeRetention(ALL)
    await eventually('the directory is there', () => stat(path), { withinMs: 5000 })
    await sink.append(['one'])
    expect(await log(path)).toBe('one\n')
  })

  test('that goes away long after a change is not made again', async () => {
    const path = join(temporaryFolder(), 'audit')
    const { sink } = sinkIn({ path })
    await sink.open()
    sink.changeRetention(ALL)
    await sink.append(['one'])
    await rm(path, { recursive: true })
    await expect(sink.append(['two'])).rejects.toThrow('is gone')
  })
})

describe('lines (22.1)', () => {
  test('are appended to those that are there', async () => {
    const { path, sink } = sinkIn()
    await writeFile(join(path, 'audit.log'), 'before\n')
    await sink.open()
    expect(await sink.append(['one', 'two'])).toBe(2)
    await sink.append(['drei € \u{1F600}'])
    expect(await log(path)).toBe('before\none\ntwo\ndrei € \u{1F600}\n')
  })

  test('are on the disk before they count, when the setting says so', async () => {
    const { path, sink } = sinkIn({ sync: 'always', maxSize: bytes(8) })
    await sink.open()
    await appendAll(sink, ['one', 'two', 'three'])
    expect(Object.values(await textsIn(path)).toSorted()).toEqual(['one\ntwo\n', 'three\n'])
  })

  test('a torn last line of a crash is closed at the next start', async () => {
    const { path, sink } = sinkIn()
    await writeFile(join(path, 'audit.log'), 'one\n{"tor')
    await sink.open()
    await sink.append(['two'])
    expect(await log(path)).toBe('one\n{"tor\ntwo\n')
  })

  test.each([
    {
      name: 'a link',
      make: (path: string) => symlink(join(temporaryFolder(), 'other'), path),
      message: 'ELOOP',
    },
    { name: 'a directory', make: (path: string) => mkdir(path), message: 'EISDIR' },
  ])('go to no $name in place of the file', async ({ make, message }) => {
    const { path, sink } = sinkIn()
    await make(join(path, 'audit.log'))
    await expect(sink.open()).rejects.toThrow(message)
  })

  test('come after those that others leave when they empty the file', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await sink.append(['one'])
    await truncate(join(path, 'audit.log'), 0)
    await sink.append(['two'])
    expect(await log(path)).toBe('two\n')
  })

  test('no line is taken after the end', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await sink.close()
    await expect(sink.append(['one'])).rejects.toThrow('closed')
    await expect(sink.open()).rejects.toThrow('closed')
    expect(await log(path)).toBe('')
  })
})

describe('rotation (22.1)', () => {
  test('a batch is split over as many files as it needs, and a longer line has its own', async () => {
    const { path, sink } = sinkIn({ maxSize: bytes(10) })
    await sink.open()
    await appendAll(sink, ['1234', '6789', 'abc', 'a line that is longer than a file', 'x', 'y'])
    expect(await textsIn(path)).toEqual({
      'audit-2026-11-28T12-00-00.250.log': '1234\n6789\n',
      'audit-2026-11-28T12-00-00.251.log': 'abc\n',
      'audit-2026-11-28T12-00-00.252.log': 'a line that is longer than a file\n',
      'audit.log': 'x\ny\n',
    })
  })

  test('never takes a name that is there, compressed or not, whatever it is', async () => {
    const { path, sink } = sinkIn({ maxSize: bytes(4) })
    await writeFile(join(path, 'audit-2026-11-28T12-00-00.250.log'), 'old\n')
    await writeFile(join(path, 'audit-2026-11-28T12-00-00.251.log.gz'), 'packed')
    await mkdir(join(path, 'audit-2026-11-28T12-00-00.252.log'))
    await symlink('/nowhere', join(path, 'audit-2026-11-28T12-00-00.253.log'))
    await sink.open()
    await appendAll(sink, ['one', 'two'])
    expect(await readFile(join(path, 'audit-2026-11-28T12-00-00.254.log'), 'utf8')).toBe('one\n')
    expect(await readFile(join(path, 'audit-2026-11-28T12-00-00.250.log'), 'utf8')).toBe('old\n')
    expect(await log(path)).toBe('two\n')
  })

  test('another maxSize is in force from the next line on', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await sink.append(['one', 'two'])
    sink.changeRetention({ ...ALL, maxSize: bytes(8) })
    await sink.append(['three'])
    expect(Object.values(await textsIn(path)).toSorted()).toEqual(['one\ntwo\n', 'three\n'])
  })

  test('a file that is full at start is rotated before its first line', async () => {
    const { path, sink } = sinkIn({ maxSize: bytes(8) })
    await writeFile(join(path, 'audit.log'), 'one\ntwo\n')
    await sink.open()
    await sink.append(['x'])
    expect((await textsIn(path))['audit.log']).toBe('x\n')
  })

  test('that fails leaves lines where they are, and is made up for', async () => {
    const { path, sink, clock } = sinkIn({ maxSize: bytes(4) })
    await sink.open()
    await sink.append(['one'])
    await clock.advance(20)
    // A directory in place of the file: it becomes a backup, and no file can be opened in its place.
    await rm(join(path, 'audit.log'))
    await mkdir(join(path, 'audit.log'))
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(sink.append(['two'])).rejects.toThrow('EISDIR')
    await rm(join(path, 'audit.log'), { recursive: true })
    await appendAll(sink, ['two', 'three'])
    expect(Object.values(await textsIn(path)).toSorted()).toEqual(['three\n', 'two\n'])
  })
})

describe('a file that others take away (22.1)', () => {
  test('is made again when it is removed', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await sink.append(['one'])
    await rm(join(path, 'audit.log'))
    await sink.append(['two'])
    expect(await log(path)).toBe('two\n')
  })

  test('is made again when it is renamed, which is seen within 20 ms', async () => {
    const { path, sink, clock } = sinkIn()
    await sink.open()
    await sink.append(['one'])
    await clock.advance(20)
    await rename(join(path, 'audit.log'), join(path, 'audit.log.1'))
    await sink.append(['two'])
    expect(await log(path)).toBe('two\n')
    expect(await readFile(join(path, 'audit.log.1'), 'utf8')).toBe('one\n')
  })

  test('is left to a file that others put into its place', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await rename(join(path, 'audit.log'), join(path, 'audit.log.1'))
    await writeFile(join(path, 'audit.log'), 'theirs\n')
    await sink.append(['one'])
    expect(await log(path)).toBe('theirs\none\n')
  })

  const LARGE = Array.from({ length: 32 }, (_, place) => `${place} `.padEnd(1024 * 1024, 'x'))
  const TOTAL = LARGE.length * (1024 * 1024 + 1)

  const MOST_TRIES = 10

  /** Does the deed while the lines are written. Where a busy machine has written all of them before, once more in another folder. */
  async function amidst(deed: (file: string) => void) {
    for (let tries = 1; ; tries += 1) {
      const { path, sink } = sinkIn()
      await sink.open()
      const file = join(path, 'audit.log')
      const appending = sink.append(LARGE)
      const deadlineMs = performance.now() + 5000
      while (statSync(file).size === 0 && performance.now() < deadlineMs)
        await new Promise((resolve) => setImmediate(resolve))
      const { size } = statSync(file)
      if (size === TOTAL && tries < MOST_TRIES) {
        await appending
        continue
      }
      deed(file)
      expect(size).toBeGreaterThan(0)
      expect(size).toBeLessThan(TOTAL)
      expect(await appending).toBe(LARGE.length)
      return { path, sink, file }
    }
  }

  test('has the lines again when it is removed while they are written', async () => {
    const { path } = await amidst((file) => rmSync(file))
    expect((await log(path)) === LARGE.map((line) => `${line}\n`).join('')).toBe(true)
  })

  test('has them once when it is renamed while they are written', async () => {
    const { path, sink, file } = await amidst((written) => renameSync(written, `${written}.1`))
    expect((await stat(`${file}.1`)).size).toBe(TOTAL)
    await sink.append(['next'])
    expect(await log(path)).toBe('next\n')
  })
})
