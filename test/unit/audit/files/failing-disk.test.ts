import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { eventuallyPasses } from '../../../support/eventually.ts'
import { bytes, temporaryFolder } from './sink-folder.ts'
import { numbersOf, startWriter, type WriterProcess } from './writer-process.ts'

const NOBODY = 65534

/** The numbers of all lines in the files of a folder, each of which must be whole. */
function numbersIn(folder: string): readonly number[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => {
      const lines = readFileSync(join(folder, name), 'utf8').split('\n')
      expect(lines.pop()).toBe('')
      return lines.map((line) => (JSON.parse(line) as { readonly number: number }).number)
    })
}

/** Expects no torn line and none twice, and all that were written, a batch that is taken back just now aside. */
const expectWhole = (folder: string, expected: readonly number[]): Promise<void> =>
  eventuallyPasses(
    'the lines are whole',
    () => {
      const numbers = numbersIn(folder)
      const found = new Set(numbers)
      expect(found.size).toBe(numbers.length)
      expect(expected.filter((number) => !found.has(number))).toEqual([])
    },
    { withinMs: 5000 },
  )

/** Ends the cause of a failure, and expects that all goes on within 5 s, with the lines that were refused meanwhile. */
async function expectHealing(
  folder: string,
  writer: WriterProcess,
  endCause: () => Promise<void> | void,
): Promise<void> {
  await writer.until(/^refused/)
  await expectWhole(folder, writer.written())
  const [healed, written] = [writer.until('healed', 5000), writer.until(/^written/)]
  await endCause()
  await Promise.all([healed, written])
  const said = writer.said()
  const refused = numbersOf(said.slice(0, said.indexOf('healed')), 'refused')
  expect(refused.length).toBeGreaterThan(0)
  await expectWhole(folder, [...refused, ...numbersOf(said, 'written')])
}

const limit = (writer: WriterProcess, flag: string): void =>
  void execFileSync('prlimit', [`--pid=${writer.child.pid}`, flag])

test('a limit in the midst of a batch leaves no torn or doubled line, and heals (22.1, 22.2)', async () => {
  const path = temporaryFolder()
  const writer = startWriter({
    path,
    lineLength: 2000,
    atOnce: 8,
    under: ['prlimit', '--fsize=100000:unlimited'],
  })
  expect(await writer.until(/^failed/)).toMatch(/there was room for \d+ of \d+ bytes|EFBIG/)
  await expectHealing(path, writer, () => limit(writer, '--fsize=unlimited'))
})

test('a full disk fails and heals, without a torn or doubled line (22.1, 22.2)', async ({
  skip,
}) => {
  const mounted = temporaryFolder()
  const under = ['unshare', '--map-root-user', '--mount', 'sh', '-c']
  const mount = `mount -t tmpfs -o size=256k none ${mounted}`
  if (spawnSync(under[0] ?? '', [...under.slice(1), mount]).status !== 0)
    skip('no file system may be mounted here')
  const ballast = `head -c 100000 /dev/zero > ${mounted}/ballast`
  const script = `${mount} && ${ballast} && exec "$@"`
  const writer = startWriter({
    path: mounted,
    lineLength: 2000,
    atOnce: 8,
    under: [...under, script, 'sh'],
  })
  expect(await writer.until(/^failed/)).toMatch(/there was room for \d+ of \d+ bytes|ENOSPC/)
  // As the process sees it.
  const folder = `/proc/${writer.child.pid}/root${mounted}`
  await expectHealing(folder, writer, () => rmSync(join(folder, 'ballast')))
})

test('a directory that may not be written to fails at the start, and heals (22.2)', async () => {
  const path = temporaryFolder()
  if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY)
  chmodSync(path, 0o500)
  const writer = startWriter({ path, isNobody: true })
  expect(await writer.until(/^failed/)).toMatch('EACCES')
  await expectHealing(path, writer, () => chmodSync(path, 0o700))
})

test('a directory that may not be written to any more fails at the next rotation, and heals (22.2)', async () => {
  const path = temporaryFolder()
  if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY)
  const writer = startWriter({ path, isNobody: true, maxSize: bytes(20_000) })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  chmodSync(path, 0o500)
  expect(await failed).toMatch('EACCES')
  await expectHealing(path, writer, () => chmodSync(path, 0o700))
})

test('a process without a free descriptor fails once it needs one, and heals (22.2)', async () => {
  const path = temporaryFolder()
  const writer = startWriter({ path, maxSize: bytes(20_000) })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  limit(writer, '--nofile=4:1024')
  expect(await failed).toMatch('EMFILE')
  await expectHealing(path, writer, () => limit(writer, '--nofile=1024:1024'))
})

test('a directory that is removed fails, is not made again, and heals when it is back (22.1, 22.2)', async () => {
  const path = join(temporaryFolder(), 'audit')
  const writer = startWriter({ path })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  await rename(path, `${path}.old`)
  expect(await failed).toMatch('is gone')
  await writer.until(/^refused/)
  expect(existsSync(path)).toBe(false)
  // What was written before stands in the old one.
  const healed = writer.until('healed', 5000)
  await mkdir(path)
  await healed
  await writer.until(/^written/)
  const numbers = [...numbersIn(path), ...numbersIn(`${path}.old`)]
  expect(new Set(numbers).size).toBe(numbers.length)
  const found = new Set(numbers)
  const said = [...numbersOf(writer.said(), 'refused'), ...writer.written()]
  expect(said.filter((number) => !found.has(number) && number < Math.max(...numbers))).toEqual([])
})

test('files that are renamed again and again have every line once (22.1)', async () => {
  const path = temporaryFolder()
  const writer = startWriter({ path, atOnce: 8 })
  for (let round = 0; round < 20; round += 1) {
    await writer.until(/^written/)
    // The one before may be seen only 20 ms later.
    await vi.waitFor(() => rename(join(path, 'audit.log'), join(path, `theirs-${round}.log`)))
  }
  await writer.until(/^written/)
  await expectWhole(path, writer.written())
  expect(writer.said().filter((line) => line.startsWith('failed'))).toEqual([])
})
