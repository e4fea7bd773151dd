import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readKeptFile, replaceKeptFile } from '../../../src/runtime/kept-file.ts'

const LIMIT = 8
let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kept-file-'))
  path = join(folder, 'state')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

/** Makes something at a path. */
type Make = (at: string) => unknown
const fifo: Make = (at) => execFileSync('mkfifo', [at])

test.each<{ name: string; make: Make; has: string | null }>([
  {
    name: 'as long as the limit has its content',
    make: (at) => writeFile(at, '12345678'),
    has: '12345678',
  },
  { name: 'that is longer counts as none', make: (at) => writeFile(at, '123456789'), has: null },
  { name: 'that is missing is none', make: () => undefined, has: null },
  {
    name: 'in the form of a link counts as none',
    make: (at) => symlink('/etc/hostname', at),
    has: null,
  },
  { name: 'in the form of a FIFO counts as none', make: fifo, has: null },
  { name: 'in the form of a directory counts as none', make: (at) => mkdir(at), has: null },
])('a kept file $name', async ({ make, has }) => {
  await make(path)
  expect((await readKeptFile(path, LIMIT))?.toString() ?? null).toBe(has)
})

test.each<{ name: string; make: Make }>([
  { name: 'nothing', make: () => undefined },
  { name: 'an old content', make: (at) => writeFile(at, 'a longer old content') },
  { name: 'what an attempt left', make: (at) => writeFile(`${at}.new`, 'half of') },
  { name: 'a FIFO where it is written first', make: (at) => fifo(`${at}.new`) },
  { name: 'a link where it is written first', make: (at) => symlink('/dev/full', `${at}.new`) },
])('a kept file takes the place of $name, and only its owner reads it', async ({ make }) => {
  await make(path)
  await replaceKeptFile(path, ['new ', Buffer.from('content')])
  expect(await readFile(path, 'utf8')).toBe('new content')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['state'])
})

test('a kept file stays as it is where a new one cannot be written', async () => {
  await replaceKeptFile(path, ['old'])
  await mkdir(join(folder, 'state.new'))
  await expect(replaceKeptFile(path, ['new'])).rejects.toThrow('EISDIR')
  expect(await readFile(path, 'utf8')).toBe('old')
})
