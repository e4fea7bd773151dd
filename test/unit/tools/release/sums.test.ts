import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readRelease, writeRelease } from '../../../../tools/release/folder.ts'
import {
  digestsOf,
  type ReleaseFiles,
  sumFaults,
  sumsText,
} from '../../../../tools/release/sums.ts'

const CONTENT = new Map([
  ['chart.tgz', Buffer.from('a')],
  ['install.yaml', Buffer.from('b')],
])
const [ofChart = '', ofManifest = ''] = sumsText(digestsOf(CONTENT)).trimEnd().split('\n')

/** A release in which these files are added or changed; undefined = removed. */
function release(change: Readonly<Record<string, string | undefined>> = {}): ReleaseFiles {
  const files = new Map([...CONTENT, ['SHA256SUMS', Buffer.from(sumsText(digestsOf(CONTENT)))]])
  for (const [name, text] of Object.entries(change))
    if (text === undefined) files.delete(name)
    else files.set(name, Buffer.from(text))
  return files
}

test.each([
  { name: 'as it was written', change: {} },
  { name: 'with its signature', change: { 'SHA256SUMS.sigstore.json': '{}' } },
])('a release $name has no fault (34.4)', ({ change }) => {
  expect(sumFaults(release(change))).toEqual([])
})

test.each([
  {
    name: 'a file without a sum',
    change: { 'notes.md': 'x' },
    faults: ['notes.md is not in SHA256SUMS'],
  },
  {
    name: 'a changed byte',
    change: { 'install.yaml': 'c' },
    faults: ['install.yaml has another sum than SHA256SUMS says'],
  },
  {
    name: 'a missing file',
    change: { 'chart.tgz': undefined },
    faults: ['chart.tgz is in SHA256SUMS and missing'],
  },
  {
    name: 'a file that is left out of the sums',
    change: { SHA256SUMS: `${ofChart}\n` },
    faults: ['install.yaml is not in SHA256SUMS'],
  },
  {
    name: 'a line that sha256sum would skip',
    change: { SHA256SUMS: `${ofChart}\n${ofManifest}\n# and more\n` },
    faults: ['SHA256SUMS has a line without a sum: "# and more"'],
  },
  {
    name: 'a name in the form of a binary file',
    change: { SHA256SUMS: `${ofChart}\n${ofManifest.replace('  ', ' *')}\n` },
    faults: [
      `SHA256SUMS has a line without a sum: ${JSON.stringify(ofManifest.replace('  ', ' *'))}`,
      'install.yaml is not in SHA256SUMS',
    ],
  },
  {
    name: 'no sums at all',
    change: { SHA256SUMS: undefined },
    faults: ['SHA256SUMS is missing'],
  },
])('$name is a fault (34.4)', ({ change, faults }) => {
  expect(sumFaults(release(change))).toEqual(faults)
})

function folder(): string {
  const root = mkdtempSync(join(tmpdir(), 'release-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  return join(root, 'dist')
}

test('a release is written with the sum of each file, in place of the one before (34.4)', () => {
  const dist = folder()
  writeRelease(dist, new Map([['of-before.tgz', Buffer.from('x')]]))
  writeRelease(dist, CONTENT)
  expect(readRelease(dist)).toEqual(release())
})

test('a release with a file that its sums lack is not written, and the one before stays (34.4)', () => {
  const dist = folder()
  writeRelease(dist, CONTENT)
  const more = new Map([...CONTENT, ['release notes', Buffer.from('x')]])
  expect(() => writeRelease(dist, more)).toThrow(
    /^the release is not complete:\n.*\nrelease notes is not in SHA256SUMS$/,
  )
  expect(readdirSync(dist)).toEqual(['SHA256SUMS', 'chart.tgz', 'install.yaml'])
  expect(readFileSync(join(dist, 'SHA256SUMS'), 'utf8')).toBe(`${ofChart}\n${ofManifest}\n`)
})

test('a folder that is not there has no release (34.4)', () => {
  expect(readRelease(folder())).toBeNull()
})
