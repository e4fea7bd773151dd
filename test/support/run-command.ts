// A program that a test runs to its end.
import { execFile } from 'node:child_process'

/** How a program ended. */
export interface Ended {
  /** Its exit code; 1 when a signal ended it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Where it runs, and its variables beside those of the test. */
interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv | undefined
}

/** Runs a program; never rejects for its failure. */
export function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: CommandOptions = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    execFile(program, args, options, (error, stdout, stderr) => {
      const failed = typeof error?.code === 'number' ? error.code : 1
      resolve({ code: error === null ? 0 : failed, stdout, stderr })
    })
  })
}
