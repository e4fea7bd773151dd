// Load on a gateway: its memory and event loop lag meanwhile, by its own metrics and /proc, while other clients must be
// served; and raw connections for clients that misbehave.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { type Socket, connect as connectPlain } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import { expect } from 'vitest'
import type { Operator } from '../../support/command-process.ts'
import { valueOf } from '../../support/metrics-page.ts'
import { isWhole, repeated } from '../../support/tier.ts'
import type { TestGateway } from './test-gateway.ts'

/** The effect of a load on a gateway process. */
export interface LoadResult<Result> {
  /** One per run of the load. */
  readonly results: readonly Result[]
  /** The growth of its memory from before the load to the peak, in MiB. */
  readonly grownMiB: number
  /**
   * The median over all seconds of the longest event loop delay in a second, in milliseconds, corrected for the time
   * that the process waited for a CPU. The median leaves out a machine that is busy for a moment; the longest delay,
   * not the p99, because one delay of 100 ms affects a tenth of all requests.
   */
  readonly lagMs: number
}

/** The interval of the samples of event loop lag. */
const SAMPLE_MS = 1000

/** With fewer samples a single event could be the median. */
const MIN_SAMPLES = repeated(1, 7)

/**
 * Repeats the load until there are enough samples, and samples the process meanwhile. The process gets the highest
 * priority, so that other processes of the machine are not what is measured.
 */
export async function measureUnderLoad<Result>(
  gateway: Operator,
  act: () => Promise<Result>,
): Promise<LoadResult<Result>> {
  raisePriority(gateway)
  const results: Result[] = []
  const over = new AbortController()
  const lags: number[] = []
  const grownMiB = await memoryGrowth(gateway, async () => {
    const sampling = sampleLag(gateway, lags, over.signal)
    // A failure is reported when it is awaited.
    sampling.catch(() => undefined)
    try {
      do results.push(await act())
      while (lags.length < MIN_SAMPLES)
    } finally {
      over.abort()
      await sampling
    }
  })
  return { results, grownMiB, lagMs: median(lags) }
}

/** The growth of a process's memory from before the load to the peak, in MiB. */
export async function memoryGrowth(
  gateway: Operator,
  act: () => Promise<unknown>,
): Promise<number> {
  const beforeMiB = await memoryOf(gateway, 'VmRSS')
  await writeFile(`/proc/${gateway.pid}/clear_refs`, '5')
  await act()
  return (await memoryOf(gateway, 'VmHWM')) - beforeMiB
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

function raisePriority({ pid }: Operator): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Only root may raise a priority; other users need a quiet machine.
  }
}

/** Appends a lag for each whole interval until the signal. */
async function sampleLag(gateway: Operator, lags: number[], signal: AbortSignal): Promise<void> {
  let before = await sampleNow(gateway)
  for (;;) {
    await delay(SAMPLE_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const now = await sampleNow(gateway)
    // A blocked event loop has recorded no delay: it lasts since the last sample.
    const lagMs = now.lagMs === 0 ? now.atMs - before.atMs : now.lagMs
    lags.push(lagMs * runningShareOf(before.cpuTimes, now.cpuTimes))
    before = now
  }
}

/** One sample. */
interface Sample {
  readonly atMs: number
  /** The longest event loop delay since the last sample, in wall-clock time. */
  readonly lagMs: number
  readonly cpuTimes: CpuTimes
}

async function sampleNow(gateway: Operator): Promise<Sample> {
  const lagSeconds = valueOf(await gateway.metrics(), 'nodejs_eventloop_lag_max_seconds')
  return { atMs: performance.now(), lagMs: lagSeconds * 1000, cpuTimes: await cpuTimesOf(gateway) }
}

/** The share of its runnable time in which the process had a CPU. */
function runningShareOf(before: CpuTimes, now: CpuTimes): number {
  const ranNs = now.ranNs - before.ranNs
  return ranNs / (ranNs + now.waitedNs - before.waitedNs)
}

/** How long a process has run on a CPU, and waited for one. */
interface CpuTimes {
  readonly ranNs: number
  readonly waitedNs: number
}

/** The times of the first thread, which runs the event loop. */
async function cpuTimesOf({ pid }: Operator): Promise<CpuTimes> {
  const [ranNs = Number.NaN, waitedNs = Number.NaN] = (
    await readFile(`/proc/${pid}/schedstat`, 'utf8')
  )
    .split(' ')
    .map(Number)
  return { ranNs, waitedNs }
}

async function memoryOf({ pid }: Operator, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  if (found === undefined) throw new Error(`process ${pid} has no ${field}`)
  return Number(found) / 1024
}

/** A connection that sends any bytes. */
export interface RawConnection {
  readonly write: (bytes: string | Buffer) => void
  /** Resolves with everything received when the gateway or `end` has closed it. */
  readonly closed: Promise<string>
  /** Everything received so far. */
  readonly received: () => string
  readonly end: () => void
}

/** Opens a connection to a gateway. @param secure false = TCP without a TLS handshake */
export async function openRawConnection(
  url: string,
  ca: string,
  secure = true,
): Promise<RawConnection> {
  const { hostname: host, port } = new URL(url)
  const socket: Socket = secure
    ? connectSecure({ host, port: Number(port), ca })
    : connectPlain({ host, port: Number(port) })
  let received = ''
  socket.setEncoding('latin1').on('data', (part: string) => (received += part))
  // The gateway may reset it at any time: 'close' follows.
  socket.on('error', () => undefined)
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)))
  await Promise.race([once(socket, secure ? 'secureConnect' : 'connect'), closed])
  return {
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    closed,
    received: () => received,
    end: () => socket.destroy(),
  }
}

/** How many runs of `runMany` are in progress at a time. */
const CONCURRENCY = 50

/** Runs a task `count` times with bounded concurrency; the results in order. */
export async function runMany<Result>(
  count: number,
  run: (at: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  let next = 0
  const workers = Array.from({ length: Math.min(CONCURRENCY, count) }, async () => {
    for (let at = next++; at < count; at = next++) results[at] = await run(at)
  })
  await Promise.all(workers)
  return results
}

/** How much a load may add to the idle event loop lag of a gateway, in milliseconds. */
export const MAX_LAG_MS = 50

/** The same for bodies of the greatest size, which are parsed in one go. */
export const MAX_BODY_LAG_MS = 2 * MAX_LAG_MS

/** How long the idle gateway is measured. */
const IDLE_FOR_MS = repeated(500, 5000)

/** Puts load on the first gateway of a setup. */
export interface LoadScenario {
  /** The lag of its event loop without load on this machine, in milliseconds. */
  readonly idleLagMs: number
  /** Runs a load while another client polls and gets only 200s. */
  readonly underLoad: <Result>(act: () => Promise<Result>) => Promise<LoadResult<Result>>
  /**
   * Asserts that memory grew by less than `maxMiB` and, in `make test-all`, that lag grew by less than `maxLagMs`
   * (MAX_LAG_MS when absent). The few seconds of `make test` would measure the machine.
   */
  readonly expectHealthy: (result: LoadResult<unknown>, maxMiB: number, maxLagMs?: number) => void
}

/** Measures the idle gateway. The other client polls `path` with this key. */
export async function serveUnderLoad(
  setup: TestGateway,
  token: string,
  path: string,
): Promise<LoadScenario> {
  const [gateway] = setup.gateways
  if (!gateway) throw new Error('there is no gateway')
  const { lagMs: idleLagMs } = await measureUnderLoad(gateway, () => delay(IDLE_FOR_MS))
  return {
    idleLagMs,
    underLoad: async (act) => {
      const over = new AbortController()
      const others = pollAsOther(setup, token, path, over.signal)
      // A failure is reported when it is awaited.
      others.catch(() => undefined)
      const result = await measureUnderLoad(gateway, act).finally(() => over.abort())
      const codes = await others
      expect(codes.length).toBeGreaterThan(0)
      expect(new Set(codes)).toEqual(new Set([200]))
      const { grownMiB, lagMs } = result
      console.log(
        `${expect.getState().currentTestName}: ${codes.length} other requests served, memory +${grownMiB.toFixed(0)} MiB, event loop lag ${lagMs.toFixed(0)} ms, idle ${idleLagMs.toFixed(0)} ms`,
      )
      return result
    },
    expectHealthy: ({ grownMiB, lagMs }, maxMiB, maxLagMs = MAX_LAG_MS) => {
      expect(grownMiB).toBeLessThan(maxMiB)
      if (isWhole) expect(lagMs - idleLagMs).toBeLessThan(maxLagMs)
    },
  }
}

/** Sends one request after the other until the signal; the codes of the answers. */
async function pollAsOther(
  setup: TestGateway,
  token: string,
  path: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const codes: number[] = []
  while (!signal.aborted) {
    codes.push((await setup.ask(token, path, { agent })).code)
    await delay(20)
  }
  agent.destroy()
  return codes
}
