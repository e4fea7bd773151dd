import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import type { OwnProcess } from './command-process.ts'
import { eventually } from './eventually.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'stepped-clock-preload.ts')).href

/** Variables for a process whose wall clock is so many milliseconds ahead of everybody else's. */
export const clockAheadEnv = (ms: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${PRELOAD}`,
  CLOCK_AHEAD_MS: String(ms),
})

/** A wall clock that is right until it is stepped. */
export interface SteppedClock {
  /** Variables for the process that has it. */
  readonly env: Readonly<Record<string, string>>
  /** Steps it to so many milliseconds ahead of everybody else's, or behind; resolves once it is. */
  readonly step: (process: Pick<OwnProcess, 'kill'>, aheadMs: number) => Promise<void>
}

/** A clock for one process. To be called while the test file loads. */
export function steppedClock(): SteppedClock {
  const folder = mkdtempSync(join(tmpdir(), 'clock-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ahead')
  return {
    env: { ...clockAheadEnv(0), CLOCK_STEP_FILE: file },
    step: async (process, aheadMs) => {
      writeFileSync(file, String(aheadMs))
      process.kill('SIGUSR2')
      // Read and removed at once.
      const isTaken = (): true | undefined => !existsSync(file) || undefined
      await eventually('the clock is stepped', isTaken, { withinMs: 10_000 })
    },
  }
}
