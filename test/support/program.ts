import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { NODE_FLAGS } from '../../tools/node-flags.ts'

/** What Node is called with to run the program; its command and flags come behind. */
export const PROGRAM: readonly string[] = [
  ...NODE_FLAGS,
  join(import.meta.dirname, '../../src/main.ts'),
]

/** How a finished run ended and what it printed. */
export interface RunResult {
  /** Its exit code; null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Variables of a test's child processes: what they need to run, and what the test adds. */
export function cleanEnv(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  return {
    ...(PATH ? { PATH } : {}),
    ...(HOME ? { HOME } : {}),
    ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
    ...added,
  }
}

/** Runs `management-operator <args>` to its end; killed when that takes longer than 30 s. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...PROGRAM, ...args],
      { env: cleanEnv(env), timeout: 30_000, killSignal: 'SIGKILL' },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}
