import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import type { OwnProcess } from './command-process.ts'
import { eventually } from './eventually.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'stepped-clock-preload.ts')).href

/** Environment variables for a process whose wall clock is that many milliseconds ahead. */
export const clockAheadEnv = (ms: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${PRELOAD}`,
  CLOCK_AHEAD_MS: String(ms),
})

/** The wall clock of a process, which is correct until a test steps it. */
export interface SteppedClock {
  /** Environment variables of that process. */
  readonly env: Readonly<Record<string, string>>
  /** Steps it to that many milliseconds ahead, or behind when negative; resolves once it is. */
  readonly step: (process: Pick<OwnProcess, 'kill'>, aheadMs: number) => Promise<void>
}

/** A clock for one process. Call it while the test file loads. */
export function steppedClock(): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'clock-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ahead')
  return {
    env: { ...clockAheadEnv(0), CLOCK_STEP_FILE: file },
    step: async (process, aheadMs) => {
      writeFileSync(file, String(aheadMs))
      process.kill('SIGUSR2')
      // The process removes the file when it has read it.
      const isTaken = (): true | undefined => !existsSync(file) || undefined
      await eventually('the clock is stepped', isTaken, { withinMs: 10_000 })
    },
  }
}
