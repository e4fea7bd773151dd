import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import {
  isGood,
  judged,
  MOST_FLAKY,
  nothing,
  summary,
  sum,
  type Tally,
} from '../../../tools/test/tally.ts'

// Real runs of vitest over such files, in a folder below the repository, where they find vitest.
const repository = join(import.meta.dirname, '../../..')
await mkdir(join(repository, '.test'), { recursive: true })
const folder = await mkdtemp(join(repository, '.test', 'tally-'))
afterAll(() => rm(folder, { recursive: true }))

const program = `
  import { startVitest } from 'vitest/node'
  import { tallyOf } from '${join(repository, 'tools/test/tally.ts')}'
  const counter = {
    onTestRunEnd: (modules, uncaught) => console.log(JSON.stringify(tallyOf(modules, uncaught))),
  }
  const options = { root: process.argv[1], watch: false, allowOnly: false, reporters: [counter] }
  await (await startVitest([], options)).close()`

test.each<{
  readonly name: string
  readonly file: string
  readonly tally: Omit<Partial<Tally>, 'failures'> & { readonly failures: readonly object[] }
  readonly good?: true
}>([
  {
    name: 'a test that passes',
    file: `test('a', () => {})`,
    tally: { passed: 1, failures: [], skips: [] },
    good: true,
  },
  {
    name: 'a test that fails',
    file: `test('a', () => expect(1).toBe(2))`,
    tally: {
      failures: [
        {
          test: 'a.test.js > a',
          error: expect.stringMatching(/^expected 1 to be 2[^]*\nat .*a.test.js/),
        },
      ],
    },
  },
  {
    name: 'a flaky test, with its first error',
    file: `let tries = 0; test('a', { retry: 2 }, () => expect((tries += 1)).toBe(3))`,
    tally: {
      passed: 1,
      failures: [],
      flaky: [{ test: 'a.test.js > a', error: expect.stringMatching(/^expected 1 to be 3/) }],
    },
    good: true,
  },
  {
    name: 'a test that fails twice',
    file: `test('a', { retry: 1 }, () => expect(1).toBe(2))`,
    tally: { passed: 0, flaky: [], failures: [{ test: 'a.test.js > a' }] },
  },
  {
    name: 'a skip with its reason',
    file: `test('a', () => {}); test('b', (context) => context.skip('no Docker here'))`,
    tally: {
      passed: 1,
      failures: [],
      skips: [{ test: 'a.test.js > b', reason: 'no Docker here' }],
    },
    good: true,
  },
  {
    name: 'a skip without a reason',
    file: `test('a', () => {}); describe('d', () => test.skip('b', () => {}))`,
    tally: { passed: 1, failures: [], skips: [{ test: 'a.test.js > d > b', reason: null }] },
  },
  {
    name: 'a todo test',
    file: `test('a', () => {}); test.todo('b')`,
    tally: { passed: 1, failures: [], skips: [{ test: 'a.test.js > b', reason: null }] },
  },
  {
    name: 'a hook that fails',
    file: `beforeAll(() => { throw new Error('x') }); test('a', () => {})`,
    tally: {
      passed: 0,
      failures: [{ test: 'a.test.js', error: expect.stringContaining('x') }],
      skips: [{ test: 'a.test.js > a', reason: 'a hook before it failed' }],
    },
  },
  {
    name: 'a hook that fails after passed tests',
    file: `describe('d', () => { afterAll(() => { throw new Error('x') }); test('a', () => {}) })`,
    tally: { passed: 1, failures: [{ test: 'a.test.js > d' }] },
  },
  {
    name: 'a file that does not load',
    file: `throw new Error('x')`,
    tally: { failures: [{ test: 'a.test.js' }] },
  },
  {
    name: 'an uncaught error',
    file: `test('a', () => void Promise.reject(new Error('x')))`,
    tally: { passed: 1, failures: [{ test: 'an uncaught error' }] },
  },
  {
    name: 'a test with `only`',
    file: `test('a', () => {}); test.only('b', () => {})`,
    tally: { failures: [{}] },
  },
])('the tally counts $name', async ({ name, file, tally, good = false }) => {
  const root = join(folder, name.replaceAll(' ', '-'))
  await mkdir(root)
  const imports = `import { afterAll, beforeAll, describe, expect, test } from 'vitest'`
  await writeFile(join(root, 'a.test.js'), `${imports}\n${file}`)
  await writeFile(join(root, 'vitest.config.js'), 'export default {}')
  const counted = await count(root)
  expect(counted).toMatchObject(tally)
  expect(counted.files).toEqual([{ file: 'a.test.js', seconds: expect.any(Number) }])
  expect(isGood(counted)).toBe(good)
})

test('prints the sums, and times, flaky tests, failures, skips and counts', () => {
  const one: Tally = {
    ...nothing,
    passed: 2,
    failures: [{ test: 'c', error: 'no\nat c.ts:1' }],
    skips: [{ test: 'a', reason: 'no Docker here' }],
    files: [
      { file: 'quick.test.ts', seconds: 0.4 },
      { file: 'slow.test.ts', seconds: 1.25 },
    ],
  }
  const alike = { test: 'd', reason: 'no Docker here' }
  const other: Tally = {
    ...nothing,
    passed: 3,
    flaky: [{ test: 'e', error: 'late' }],
    skips: [{ test: 'b', reason: null }, alike],
    files: [
      { file: 'slowest.test.ts', seconds: 20 },
      { file: 'as-quick.test.ts', seconds: 0.5 },
    ],
  }
  expect(summary(sum(one, other))).toEqual([
    '   20.0 s  slowest.test.ts',
    '    1.3 s  slow.test.ts',
    '    0.9 s  2 files below a second, together',
    'flaky: e\n  late',
    'failed: c\n  no\n  at c.ts:1',
    'skipped: a, and 1 more: no Docker here',
    'skipped: b: no reason given (use context.skip(reason)): this fails the run',
    '1 flaky: passed when tried again',
    '5 passed, 1 failed, 3 skipped',
  ])
  expect(isGood(nothing)).toBe(false)
})

test.each([
  { name: 'three flaky tests pass the run', count: MOST_FLAKY, good: true },
  { name: 'a fourth fails the run', count: MOST_FLAKY + 1, good: false },
])('$name', ({ count: flakyCount, good }) => {
  const flaky = Array.from({ length: flakyCount }, (_, at) => ({ test: `${at}`, error: 'late' }))
  expect(isGood(judged({ ...nothing, passed: 9, flaky }))).toBe(good)
})

async function count(root: string): Promise<Tally> {
  const args = ['--input-type=module', '--eval', program, root]
  const { VITEST: _, ...env } = process.env
  const node = promisify(execFile)(process.execPath, args, { cwd: repository, env })
  // A failed run exits with 1 and prints its counts nevertheless.
  const { stdout } = await node.catch((error: { readonly stdout: string }) => error)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Tally
}
