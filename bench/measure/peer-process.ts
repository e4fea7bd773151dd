// A program to compare with, as a child process.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanEnv } from '../../test/support/command-process.ts'
import { tether } from '../../tools/tether.ts'

/** A running comparator. `await using` stops it at the end of the block. */
export interface Running extends AsyncDisposable {
  readonly pid: number
  /** Sends SIGTERM, and SIGKILL after ten seconds. Resolves when the program has ended; at once if it had already. */
  stop(): Promise<void>
}

const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 25

/**
 * Starts a program and waits until it is ready. It ends with this process, whatever ends that.
 *
 * @param answers whether it is ready, asked again and again; absent = it says `ready` on a line of its own
 * @throws Error with the end of its output when it ends first or is not ready within a minute
 */
export async function startPeer(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  answers?: () => Promise<boolean>,
): Promise<Running> {
  const child = spawn(program, args, { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
  tether(child)
  const exited = once(child, 'exit')
  const tail: string[] = []
  const keep = (line: string): void => {
    tail.push(line)
    if (tail.length > 20) tail.shift()
  }
  createInterface({ input: child.stderr }).on('line', keep)
  const saysReady = new Promise<true>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      keep(line)
      if (line === 'ready') resolve(true)
    })
  })
  const limit = AbortSignal.timeout(START_LIMIT_MS)
  const ended = AbortSignal.any([limit, signalOf(exited)])
  const started = await Promise.race([
    answers ? answered(answers, ended) : saysReady,
    exited.then(() => false),
    once(limit, 'abort').then(() => false),
  ])
  if (!started || child.pid === undefined) {
    child.kill('SIGKILL')
    throw new Error(`${program} did not get ready:\n${tail.join('\n')}`)
  }
  const stop = (): Promise<void> => stopped(child, exited)
  return { pid: child.pid, stop, [Symbol.asyncDispose]: stop }
}

/** Aborts once it resolves or rejects. */
function signalOf(event: Promise<unknown>): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  void event.then(abort, abort)
  return controller.signal
}

/** Calls `answers` until it returns true. An error, such as a refused connection, counts as false. */
async function answered(answers: () => Promise<boolean>, ended: AbortSignal): Promise<boolean> {
  while (!ended.aborted) {
    if (await answers().catch(() => false)) return true
    await sleep(LOOK_EVERY_MS)
  }
  return false
}

async function stopped(child: ReturnType<typeof spawn>, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await exited
  clearTimeout(limit)
}
