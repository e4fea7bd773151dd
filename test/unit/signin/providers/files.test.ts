import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readProviderFile } from '../../../../src/signin/providers/files.ts'

/** A directory for `--files-dir`, beside others that a test fills. */
async function folder() {
  const root = await mkdtemp(join(tmpdir(), 'provider-files-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const directory = join(root, 'files')
  await mkdir(directory)
  return { root, directory }
}

const read = (path: string, directory: string | null): Promise<string> =>
  readProviderFile({ field: 'caFile', path }, directory)

test('a file in --files-dir is read, and again after it has changed (25.6)', async () => {
  const { directory } = await folder()
  const path = join(directory, 'ca.crt')
  await writeFile(path, 'one')
  expect(await read(path, directory)).toBe('one')
  await writeFile(path, 'two')
  expect(await read(path, directory)).toBe('two')
})

test('a file of a mounted Secret is read, whose links stay in --files-dir (25.6)', async () => {
  const { directory } = await folder()
  await mkdir(join(directory, '..2026'))
  await writeFile(join(directory, '..2026', 'ca.crt'), 'mounted')
  await symlink('..2026', join(directory, '..data'))
  await symlink('..data/ca.crt', join(directory, 'ca.crt'))
  expect(await read(join(directory, 'ca.crt'), directory)).toBe('mounted')
})

test('a file of another place is refused, with its path and without its content (25.6, SJ)', async () => {
  const { root, directory } = await folder()
  await writeFile(join(root, 'token'), 'a secret')
  await mkdir(join(root, 'files-2'))
  await writeFile(join(root, 'files-2', 'token'), 'a secret')
  await symlink(join(root, 'token'), join(directory, 'link'))
  await symlink(root, join(directory, 'up'))
  for (const path of [
    join(root, 'token'),
    `${directory}/../token`,
    join(root, 'files-2', 'token'),
    join(directory, 'link'),
    join(directory, 'up', 'token'),
    '/etc/passwd',
  ]) {
    const refused = read(path, directory)
    await expect(refused).rejects.toMatchObject({ reason: 'provider_unusable', detail: 'caFile' })
    await expect(refused).rejects.toThrow(`caFile ${path} is not in the directory of --files-dir`)
  }
})

test('a path that is no file of at most 1 MiB is refused, and none is waited for (25.6)', async () => {
  const { directory } = await folder()
  const [large, pipe, absent] = ['large', 'pipe', 'absent'].map((name) => join(directory, name))
  await writeFile(String(large), '')
  await truncate(String(large), 1024 * 1024 + 1)
  execFileSync('mkfifo', [String(pipe)])
  await expect(read(String(large), directory)).rejects.toThrow('has more than 1 MiB')
  await expect(read(String(pipe), directory)).rejects.toThrow('is not a file')
  await expect(read(String(absent), directory)).rejects.toThrow('cannot be read')
  await expect(read(directory, directory)).rejects.toThrow('is not in the directory')
  await expect(read('ca.crt', directory)).rejects.toThrow('is not an absolute path')
  await expect(read(String(large), null)).rejects.toThrow('cannot be read without --files-dir')
  await truncate(String(large), 1024 * 1024)
  expect(await read(String(large), directory)).toHaveLength(1024 * 1024)
})
