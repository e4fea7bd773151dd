// A log-writer.ts as a child process, and what it said.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { tether } from '../../../../tools/tether.ts'
import { eventually } from '../../../support/eventually.ts'
import type { LogWriterOptions } from './log-writer.ts'
import { ALL } from './sink-folder.ts'

const FILE = join(import.meta.dirname, 'log-writer.ts')

const DEFAULTS: Omit<LogWriterOptions, 'path'> = {
  ...ALL,
  first: 0,
  atOnce: 4,
  lineLength: 200,
  haste: 20,
  isRestless: false,
  isNobody: false,
}

/** Node makes the first three descriptors of a child blocking ones; this leaves standard output as it was opened. */
const REDIRECTION = ['sh', '-c', 'exec "$@" 1>&4 4>&-', 'sh']

/** How to start a writer; what is absent is DEFAULTS. */
interface WriterOptions extends Partial<LogWriterOptions> {
  readonly path: string
  /** A program, with its arguments, that runs the writer. */
  readonly under?: readonly string[]
  /** What its standard output is; nothing when absent. */
  readonly stdout?: 'pipe' | number
}

/** A running writer. */
export interface WriterProcess {
  readonly child: ChildProcess
  /** All that it said, a line each. */
  readonly said: () => readonly string[]
  /** Waits until it says this, after what it had said when `until` was called. */
  readonly until: (text: string | RegExp, withinMs?: number) => Promise<string>
  /** The numbers of the lines that were written. */
  readonly written: () => readonly number[]
  /** Ends it, as a power failure would end its node. */
  readonly kill: () => Promise<void>
}

/** Starts a writer, which ends with its test. */
export function startWriter({ under = [], stdout, ...options }: WriterOptions): WriterProcess {
  const settings: LogWriterOptions = { ...DEFAULTS, ...options }
  const redirection = typeof stdout === 'number' ? REDIRECTION : []
  const own = [process.execPath, FILE, JSON.stringify(settings)]
  const [program = '', ...args] = [...under, ...redirection, ...own]
  const child = spawn(program, args, {
    // Where the size of files is limited, no cache of compiled code can be written.
    env: { PATH: process.env['PATH'] },
    stdio: [
      'ignore',
      stdout === 'pipe' ? 'pipe' : 'ignore',
      'inherit',
      'pipe',
      typeof stdout === 'number' ? stdout : 'ignore',
    ],
  })
  tether(child)
  let text = ''
  const channel = child.stdio[3] as Readable
  channel.setEncoding('utf8').on('data', (part: string) => (text += part))
  const exited = once(child, 'close')
  const said = (): readonly string[] => text.split('\n').slice(0, -1)
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return {
    child,
    said,
    kill,
    until: (wanted, withinMs = 45_000) => {
      const before = said().length
      const isWanted = (line: string): boolean =>
        typeof wanted === 'string' ? line === wanted : wanted.test(line)
      return eventually(
        `the writer says ${String(wanted)}`,
        () => said().slice(before).find(isWanted),
        { withinMs },
      )
    },
    written: () => numbersOf(said(), 'written'),
  }
}

/** The numbers of the lines of which the writer said this. */
export const numbersOf = (
  said: readonly string[],
  state: 'written' | 'refused',
): readonly number[] =>
  said.flatMap((line) => (line.startsWith(`${state} `) ? Number(line.split(' ')[1]) : []))
