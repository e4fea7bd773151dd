// kubectl with open streams: what it prints is bytes, what it reads comes when a test says so, and it may have a
// terminal.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import type { Access } from '../../tools/control-plane/access.ts'
import type { KubectlOptions } from '../../tools/control-plane/kubectl.ts'
import { eventually } from './eventually.ts'

/** Protocols of kubectl for exec, attach, cp and port-forward, with the variables that choose them. */
export const PROTOCOLS = [
  { protocol: 'WebSocket', env: protocolEnv('true') },
  { protocol: 'SPDY', env: protocolEnv('false') },
] as const

function protocolEnv(isWebSocket: 'true' | 'false'): Readonly<Record<string, string>> {
  return {
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: isWebSocket,
    KUBECTL_PORT_FORWARD_WEBSOCKETS: isWebSocket,
  }
}

/** A size of a terminal. */
interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** How to start it. */
interface StartOptions extends Pick<KubectlOptions, 'kubeconfig' | 'env'> {
  /** It gets a terminal, by program `script` of Linux, and both its outputs are one. Absent means pipes. */
  readonly terminal?: TerminalSize
}

/** How it ended, and all that it printed. */
interface Ending {
  /** Its exit code; 128 when a signal ended it. */
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
}

/** A kubectl that runs. */
export interface KubectlProcess {
  readonly stdin: Writable
  readonly ended: Promise<Ending>
  /** Its standard output and standard error so far. */
  output(): string
  /** Resolves with what it has printed to both outputs when that matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Gives its terminal another size. @throws Error when it has none */
  resize(size: TerminalSize): Promise<void>
  kill(signal: NodeJS.Signals): void
}

const WITHIN = { withinMs: 20_000 }
const TERMINAL = /\/dev\/pts\/\d+/

/** Starts kubectl, as admin by default; it is killed when the test is finished. */
export function startKubectl(
  access: Pick<Access, 'kubectlCommand'>,
  args: readonly string[],
  options: StartOptions = {},
): KubectlProcess {
  const { program, env } = access.kubectlCommand(options)
  const { terminal } = options
  const command =
    terminal === undefined ? [program, ...args] : onTerminal(terminal, [program, ...args])
  const child = spawn(command[0] ?? '', command.slice(1), { env, stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
  // A command that reads no input may be gone before it is written.
  child.stdin.on('error', () => undefined)
  const output = (): string => Buffer.concat([...stdout, ...stderr]).toString()
  const printed: KubectlProcess['printed'] = (pattern) =>
    eventually(
      `kubectl ${args.join(' ')} prints ${pattern}`,
      () => {
        const text = output()
        const found = pattern.exec(text)
        if (found === null) throw new Error(text.slice(-1000))
        return found
      },
      WITHIN,
    )
  return {
    stdin: child.stdin,
    ended: endingOf(child, stdout, stderr),
    output,
    printed,
    resize: async ({ rows, columns }) => {
      const [device] = await printed(TERMINAL)
      await promisify(execFile)('stty', ['-F', device, 'rows', `${rows}`, 'cols', `${columns}`])
    },
    kill: (signal) => void child.kill(signal),
  }
}

/** It prints first which terminal that is. */
function onTerminal(
  { rows, columns }: TerminalSize,
  command: readonly string[],
): readonly string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const run = `tty; stty rows ${rows} cols ${columns}; exec ${quoted}`
  return ['script', '--quiet', '--return', '--command', run, '/dev/null']
}

function endingOf(
  child: ChildProcess,
  stdout: readonly Buffer[],
  stderr: readonly Buffer[],
): Promise<Ending> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({
        code: code ?? 128,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString(),
      }),
    )
  })
}
