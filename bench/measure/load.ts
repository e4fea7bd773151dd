// The load: `load` of bench/peers, which costs little itself, prints one line of JSON.
import { execFile } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const LIMIT_MS = 900_000

/**
 * Runs `load` to its end.
 *
 * @param says gets each line of its stderr when it comes
 * @returns what it printed
 * @throws Error with what it wrote to stderr
 */
export async function runLoad<Result>(
  program: string,
  args: readonly string[],
  says: (line: string) => void = () => undefined,
): Promise<Result> {
  try {
    const running = promisify(execFile)(program, args, { timeout: LIMIT_MS })
    if (running.child.stderr) createInterface({ input: running.child.stderr }).on('line', says)
    const { stdout } = await running
    return JSON.parse(stdout) as Result
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    throw new Error(`load ${args[0]}: ${stderr.trim() || message}`, { cause: error })
  }
}

/** The output of `load keys` and `load floor`. */
export interface KeysLoad {
  readonly count: number
  /** From the first POST to the last object that is ready. */
  readonly seconds: number
  readonly perSecond: number
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

/** The output of `load delete` and `load status`. */
export interface CountedLoad {
  readonly count: number
  readonly seconds: number
  readonly perSecond: number
}

/** The output of `load http`: rate and latency of its window; all else of its warm-up and lead-in too. */
export interface HttpLoad {
  readonly requests: number
  readonly errors: number
  readonly statuses: Readonly<Record<string, number>>
  readonly seconds: number
  readonly perSecond: number
  readonly bytes: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** The output of `load http --mode watch`. */
export interface WatchLoad {
  readonly watches: number
  readonly events: number
  readonly seconds: number
  readonly perSecond: number
}
