import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'

const module = new URL('../../../tools/tether.ts', import.meta.url).href

/** Starts a tethered child that would run for ten minutes, prints its process id, and then does `last`. */
const parentThat = (last: string): string => `
  import { spawn } from 'node:child_process'
  import { writeSync } from 'node:fs'
  import { tether } from '${module}'
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  tether(child)
  writeSync(1, String(child.pid))
  ${last}`

test.each([
  { name: 'killed', last: "process.kill(process.pid, 'SIGKILL')" },
  { name: 'ended', last: 'process.exit()' },
])('a child ends with its $name parent', async ({ last }) => {
  const args = ['--input-type=module-typescript', '--eval', parentThat(last)]
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = Number(await text(parent.stdout))
  expect(pid).toBeGreaterThan(0)
  await eventually('the child is gone', () => !runs(pid) || undefined, { withinMs: 10_000 })
})

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
