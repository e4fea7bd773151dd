// `make run` as a user starts it, and every `$` block of README.md and docs/tour.md on it; in `make test-all` the
// blocks of all other pages too, in the order of README.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startMakeRun } from '../support/command-process.ts'
import { masked, stepsOf } from '../support/documentation-blocks.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { isWhole } from '../support/tier.ts'

const ROOT = join(import.meta.dirname, '../..')
const START_WITHIN_MS = 150_000
/** Some steps wait for the expiry of a key. */
const WITHIN = { timeout: 300_000 }
const home = mkdtempSync(join(tmpdir(), 'docs-'))
for (const name of ['config', 'docs']) symlinkSync(join(ROOT, name), join(home, name))

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8')
const README = textOf('README.md')
const TOUR = 'docs/tour.md'
/** The place of a page in the list, which is after any mention in the text. */
const place = (page: string): number => README.lastIndexOf(`](${page})`)
const pages = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .filter((page) => page !== TOUR && stepsOf(textOf(page)).length > 0)
  .toSorted((one, other) => place(one) - place(other))

let run = startMakeRun(join(home, '.run'))

beforeAll(() => run.says(/^Ready:/m), START_WITHIN_MS)

afterAll(async () => {
  run.kill('SIGINT')
  await run.exited
  rmSync(home, { recursive: true, force: true })
})

/** The steps that wait for the end of the first minute are run last. */
const [FIRST_MINUTE = '', EXPIRY = ''] = textOf(TOUR).split(/^(?=## Expiry$)/m)

describe('README.md', () => {
  testSteps(README)
})

describe(`${TOUR}, the first minute`, () => {
  testSteps(FIRST_MINUTE)
})

test('a second make run continues with the data of the first', WITHIN, async () => {
  run.kill('SIGINT')
  expect(await run.exited).toBe(0)
  run = startMakeRun(join(home, '.run'))
  await run.says(/^Ready:/m)
  const cap = await typed(
    "kubectl get config platform-manager-config -o jsonpath='{.spec.auth.accessKeyMaxTTLSeconds}'",
  )
  expect(cap, 'the cap that the tour lowers').toBe('86400')
  const names = await typed('kubectl get oak -o name')
  expect(names, 'the key that the tour deletes').not.toContain('ci-deploy')
  expect(names).toContain('laptop-cli')
})

describe(`${TOUR}, after the first minute`, () => {
  testSteps(EXPIRY)
})

describe.each(isWhole ? pages : [])('%s', (page) => {
  testSteps(textOf(page))
})

function testSteps(markdown: string): void {
  test('the page contains no text that looks like a key', () =>
    expect(markdown).not.toMatch(/pak_\w{43}_\w{6}|sha256:[0-9a-f]{64}/))

  test('the page has steps', () => expect(stepsOf(markdown)).not.toEqual([]))

  test.each(stepsOf(markdown))('$command', WITHIN, async ({ command, output }) => {
    const shows = async (): Promise<void> =>
      expect(masked(await typed(command))).toBe(masked(output))
    if (READS.test(command)) await eventuallyPasses(command, shows, { withinMs: 60_000 })
    else await shows()
  })
}

/**
 * Commands that only read: they are retried, as this test is faster than a person. Events, RBAC, warnings and the
 * gateway follow a change with a delay.
 */
const READS =
  /^(sleep 1; )?kubectl( (-n|--kubeconfig) \S+)* (get|describe|wait|auth) [^|]*$|--dry-run=server|^management-operator audit /

function typed(command: string): Promise<string> {
  const script = `[ -f .run/env ] && . .run/env; ${command}`
  return new Promise((resolve) => {
    execFile('bash', ['-c', `{ ${script}\n} 2>&1`], { cwd: home }, (_error, stdout) =>
      resolve(stdout),
    )
  })
}
