// `make run` as a process of the test's own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { eventually } from './eventually.ts'

/** A run on a folder. */
export interface MakeRun {
  /** What it has printed so far, on standard output and on standard error. */
  readonly printed: { out: string; err: string }
  /** Its exit code, once it has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>
  readonly kill: ChildProcess['kill']
  /** Waits until it has printed that. @throws Error when it ends before, or takes longer than two minutes */
  says(what: RegExp): Promise<void>
}

const WITHIN_MS = 120_000

/** Starts `make run` with its data in `folder`; `env` is added to the variables of the test. */
export function startMakeRun(folder: string, env: Readonly<Record<string, string>> = {}): MakeRun {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../tools/run.ts')], {
    env: { ...process.env, RUN_DIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text))
  let hasEnded = false
  const exited = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code as number | null
  })
  return {
    printed,
    exited,
    kill: (signal) => child.kill(signal),
    says: async (what) => {
      const look = () => what.test(printed.out) || (hasEnded ? null : undefined)
      const seen = await eventually(`make run says ${what}`, look, { withinMs: WITHIN_MS })
      if (seen === null) throw new Error(`it ended: ${printed.out}${printed.err}`)
    },
  }
}
