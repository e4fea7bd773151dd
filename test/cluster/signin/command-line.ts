// The commands of a person at a terminal, each as a process with a home of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type RunResult, cleanEnv, programArgs } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { SOON } from '../gateway/test-gateway.ts'

/** A command that is running. */
export interface RunningCommand {
  /** Waits for a text on either output. @returns its first group */
  readonly says: (pattern: RegExp) => Promise<string>
  readonly type: (line: string) => void
  readonly ended: Promise<RunResult>
}

/** Starts a command. @param home the folder of its settings @param more of its environment */
export function startTool(
  home: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): RunningCommand {
  const env = { XDG_CONFIG_HOME: home, HOME: home, ...more }
  return startProgram(process.execPath, [...programArgs(), ...args], env)
}

/** Starts a program. @param env its environment, beside what each one needs */
export function startProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningCommand {
  const child = spawn(program, args, { env: cleanEnv(env) })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (piece: Buffer) => {
    stdout += piece.toString()
  })
  child.stderr.on('data', (piece: Buffer) => {
    stderr += piece.toString()
  })
  return {
    says: (pattern) =>
      eventually(`it says ${pattern.source}`, async () => pattern.exec(stdout + stderr)?.[1], SOON),
    type: (line) => void child.stdin.write(`${line}\n`),
    ended: once(child, 'close').then(([code]) => ({ code: code as number, stdout, stderr })),
  }
}
