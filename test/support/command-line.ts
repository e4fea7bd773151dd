// A command line of the program in the process of the test. command-process.ts starts a process for it, which takes ten
// times as long: a test needs that only for the process itself, such as its flags, its environment or its signals.
import { runCommandLine } from '../../src/commands/command-line.ts'
import type { RunResult } from './command-process.ts'

let last: Promise<unknown> = Promise.resolve()

/** Runs `management-operator <args>` to its end. */
export const runHere = (args: readonly string[]): Promise<RunResult> =>
  captured(() => runCommandLine(args))

/** Runs a command to its end, after those before: it takes the output of the whole process. */
export function captured(command: () => Promise<number>): Promise<RunResult> {
  const result = last.then(() => runNow(command))
  last = result.catch(() => undefined)
  return result
}

async function runNow(command: () => Promise<number>): Promise<RunResult> {
  const [out, err] = [capture(process.stdout), capture(process.stderr)]
  try {
    const code = await command()
    return { code, stdout: out.text(), stderr: err.text() }
  } finally {
    out.restore()
    err.restore()
  }
}

/** Keeps what is written to a stream from the stream, until `restore`. */
function capture(stream: NodeJS.WriteStream): {
  readonly text: () => string
  readonly restore: () => void
} {
  const write: unknown = Reflect.get(stream, 'write')
  let text = ''
  stream.write = (written: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    text += String(written)
    const done = rest.at(-1)
    if (typeof done === 'function') done()
    return true
  }
  return { text: () => text, restore: () => void Reflect.set(stream, 'write', write) }
}
