// What counts as a clean checkout, in a repository of its own.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cleanCheckout } from '../../../../tools/release/checkout.ts'

const NAMED = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
let root = ''

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'check out-'))
  mkdirSync(join(root, 'charts'))
  writeFileSync(join(root, '.gitignore'), '*.log\n')
  writeFileSync(join(root, 'charts/values.yaml'), '')
  git('init', '--quiet')
  git('add', '--all')
  git(...NAMED, 'commit', '--quiet', '--message=first')
})
afterEach(() => rmSync(root, { recursive: true }))

test('a clean checkout has a commit and its time, with ignored files elsewhere', () => {
  writeFileSync(join(root, 'mine.log'), '')
  const timeSeconds = Number(git('show', '--no-patch', '--format=%ct'))
  expect(cleanCheckout(root)).toEqual({ commit: git('rev-parse', 'HEAD'), timeSeconds })
})

test.each([
  { name: 'an ignored file in a chart, which Helm packages', path: 'charts/mine.log' },
  { name: 'an untracked file, which a setting hides', path: 'charts/new.yaml' },
  { name: 'a changed file', path: 'charts/values.yaml' },
])('$name is refused (34.4)', ({ path }) => {
  git('config', 'status.showUntrackedFiles', 'no')
  writeFileSync(join(root, path), 'a: 1\n')
  expect(() => cleanCheckout(root)).toThrow(path)
})
