// `make run` as a person starts it, and every `$` block of README and docs on it, in order.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { masked, stepsOf } from '../support/transcript.ts'

const ROOT = join(import.meta.dirname, '../..')
const START_WITHIN_MS = 60_000
const home = mkdtempSync(join(tmpdir(), 'docs-'))
for (const name of ['config', 'docs']) symlinkSync(join(ROOT, name), join(home, name))

const run = spawn(process.execPath, [join(ROOT, 'tools/run.ts')], {
  env: { ...process.env, RUN_DIR: join(home, '.run') },
  stdio: ['ignore', 'pipe', 'pipe'],
})
let said = ''
for (const stream of [run.stdout, run.stderr])
  stream.on('data', (chunk: Buffer) => (said += chunk.toString()))

beforeAll(async () => {
  await eventually(
    'make run is ready',
    () => {
      if (run.exitCode !== null) throw new Error(`it ended: ${said}`)
      return /^Ready:/m.test(said) || undefined
    },
    { withinMs: START_WITHIN_MS },
  )
}, START_WITHIN_MS)

afterAll(async () => {
  const exit = new Promise((end) => run.once('exit', end))
  run.kill('SIGINT')
  await exit
  rmSync(home, { recursive: true, force: true })
})

function typed(command: string): Promise<string> {
  const script = `[ -f .run/env ] && . .run/env; ${command}`
  return new Promise((resolve) => {
    execFile('bash', ['-c', `{ ${script}\n} 2>&1`], { cwd: home }, (_error, stdout) =>
      resolve(stdout),
    )
  })
}

describe.each(['README.md', 'docs/ownedaccesskey.md', 'docs/config.md'])('%s', (page) => {
  const steps = stepsOf(readFileSync(join(ROOT, page), 'utf8'))

  test('has steps to show', () => expect(steps.length).toBeGreaterThan(0))

  test.each(steps)('$command', async ({ command, output }) => {
    expect(masked(await typed(command))).toBe(masked(output))
  })
})
