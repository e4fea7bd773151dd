import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { sinkIn, temporaryFolder } from './sink-folder.ts'

/** What every open file does, to be failed by a test: no real disk fails twice at the wrong moments. */
async function fileDeeds(): Promise<FileHandle> {
  const handle = await open(join(temporaryFolder(), 'any'), 'w')
  await handle.close()
  onTestFinished(() => void vi.restoreAllMocks())
  return Object.getPrototypeOf(handle) as FileHandle
}

test('a batch that was written by half, and stays so at first, is taken back before the next line (22.1)', async () => {
  const { path, sink } = sinkIn()
  await sink.open()
  await sink.append(['before'])
  const deeds = await fileDeeds()
  const write: unknown = Reflect.get(deeds, 'write')
  vi.spyOn(deeds, 'write').mockImplementationOnce(async function half(this: FileHandle, bytes) {
    return (await Reflect.apply(write as (...args: unknown[]) => unknown, this, [
      bytes,
      0,
      8,
    ])) as never
  })
  const truncate = vi
    .spyOn(deeds, 'truncate')
    .mockRejectedValueOnce(new Error('first'))
    .mockRejectedValueOnce(new Error('second'))
  const lines = ['one', 'two', 'three']
  await expect(sink.append(lines)).rejects.toThrow('there was room for 8 of 14 bytes')
  await expect(sink.append(lines)).rejects.toThrow('second')
  expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('before\none\ntwo\n')
  expect(await sink.append(lines)).toBe(3)
  expect(truncate).toHaveBeenCalledTimes(3)
  expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('before\none\ntwo\nthree\n')
})

test('lines that the disk refuses are taken back, and are there once in the end (22.1, 22.2)', async () => {
  const { path, sink } = sinkIn({ sync: 'always' })
  await sink.open()
  const deeds = await fileDeeds()
  const sync = vi.spyOn(deeds, 'datasync').mockRejectedValueOnce(new Error('EIO'))
  await expect(sink.append(['one'])).rejects.toThrow('EIO')
  expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('')
  await sink.append(['one'])
  await sink.append(['two', 'three'])
  expect(sync).toHaveBeenCalledTimes(3)
  expect(await readFile(join(path, 'audit.log'), 'utf8')).toBe('one\ntwo\nthree\n')
})

test('no line waits for the disk where the kernel is enough (22.2)', async () => {
  const { sink } = sinkIn({ sync: 'write' })
  await sink.open()
  const sync = vi.spyOn(await fileDeeds(), 'datasync')
  await sink.append(['one'])
  expect(sync).not.toHaveBeenCalled()
})
