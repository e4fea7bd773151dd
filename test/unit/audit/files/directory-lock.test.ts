import { readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lockDirectory } from '../../../../src/audit/files/directory-lock.ts'
import { sinkIn, temporaryFolder } from './sink-folder.ts'
import { startWriter } from './writer-process.ts'

const OTHER = 'another process writes to this directory'

describe('one process writes to a directory (22.1)', () => {
  test('a second one fails at once, and takes over within the next attempts when the first is killed', async () => {
    const path = temporaryFolder()
    const first = startWriter({ path })
    await first.until(/^written/)
    const second = startWriter({ path, first: 1_000_000 })
    expect(await second.until(/^failed/)).toBe(`failed: ${OTHER}`)
    await first.until(/^written/)
    expect(second.written()).toEqual([])
    // It may heal before the end of the first is noticed here.
    const healed = second.until('healed')
    await first.kill()
    await healed
    await second.until(/^written/)
    await second.kill()
    const lines = (await readFile(join(path, 'audit.log'), 'utf8')).split('\n').slice(0, -1)
    const numbers = new Set(lines.map((line) => (JSON.parse(line) as { number: number }).number))
    for (const number of [...first.written(), ...second.written()])
      expect(numbers).toContain(number)
    expect(numbers.size).toBe(lines.length)
  })

  test('a second log of the same process fails too, and the first keeps its lock', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(sinkIn({ path }).sink.open()).rejects.toThrow(OTHER)
    // Another process sees what the kernel has.
    const other = startWriter({ path })
    expect(await other.until(/^failed/)).toBe(`failed: ${OTHER}`)
    await sink.append(['one'])
    const healed = other.until('healed')
    await sink.close()
    await healed
  })

  test('a log that closes leaves the lock to the next one', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await sink.close()
    const { sink: next } = sinkIn({ path })
    await next.open()
    expect(await next.append(['one'])).toBe(1)
  })

  test('the locked file is empty, for its owner alone, and alone', async () => {
    const path = temporaryFolder()
    const lock = await lockDirectory(path)
    const { size, mode } = await stat(join(path, 'audit.lock'))
    expect({ size, mode: mode & 0o777 }).toEqual({ size: 0, mode: 0o600 })
    await expect(stat(join(path, 'audit.lock-journal'))).rejects.toThrow('ENOENT')
    lock.release()
  })

  test('a locked file that others replace is locked again before the next line', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await rename(join(path, 'audit.lock'), join(path, 'other.lock'))
    await sink.append(['one'])
    await expect(sinkIn({ path }).sink.open()).rejects.toThrow(OTHER)
    await sink.append(['two'])
    expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('one\ntwo\n')
  })

  test('a process that lost its lock writes no line', async () => {
    const { path, sink } = sinkIn()
    await sink.open()
    await rm(join(path, 'audit.lock'))
    const thief = await lockDirectory(path)
    await expect(sink.append(['one'])).rejects.toThrow(OTHER)
    expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('')
    thief.release()
    await sink.append(['one'])
    expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('one\n')
  })

  test.each([
    { name: 'a link', make: (path: string) => symlink(join(temporaryFolder(), 'other'), path) },
    { name: 'a file of something else', make: (path: string) => writeFile(path, 'x'.repeat(5000)) },
  ])('$name in place of the locked file is a failed sink, and left as it is', async ({ make }) => {
    const path = temporaryFolder()
    await make(join(path, 'audit.lock'))
    await expect(lockDirectory(path)).rejects.toThrow(/audit\.lock/)
  })
})
