// What a gateway goes through while somebody bears down on it: its memory and its event loop, as it tells
// them itself. And clients that misbehave, byte by byte.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { type Socket, connect as connectPlain } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import { expect } from 'vitest'
import { valueOf } from '../../support/metrics-text.ts'
import type { Operator } from '../../support/process-output.ts'
import { isWhole, repeated } from '../../support/tier.ts'
import type { TestGateway } from './test-gateway.ts'

/** What acts did to a process. */
export interface LoadResult<Result> {
  /** One for each time that it was done. */
  readonly results: readonly Result[]
  /** The most memory it had meanwhile, beyond what it had before, in MiB. */
  readonly grownMiB: number
  /**
   * The longest delay of its event loop in the median second, in milliseconds, as it would be on a machine
   * of its own. The median, since what comes from what it has to do is in most seconds, and what comes from
   * a machine that is busy for a moment is in few. The longest, since of a hundred delays in a second the
   * quantile of 99 in 100 leaves out one, and one that takes a tenth of a second is a tenth of all requests.
   */
  readonly lagMs: number
}

/** The parts in which the event loop is looked at. */
const PART_MS = 1000

/** So many parts at least: of fewer, the median may be what happened once. */
const FEWEST_PARTS = repeated(1, 7)

/**
 * Acts, again and again until there is enough to look at, and looks at the process meanwhile, which goes
 * first where the machine has too much to do: what others on it have to do is not what is measured.
 */
export async function measureUnderLoad<Result>(
  gateway: Operator,
  act: () => Promise<Result>,
): Promise<LoadResult<Result>> {
  goFirst(gateway)
  const results: Result[] = []
  const over = new AbortController()
  const lags: number[] = []
  const grownMiB = await memoryGrowth(gateway, async () => {
    const looking = look(gateway, lags, over.signal)
    // What it fails with is told at the end.
    looking.catch(() => undefined)
    try {
      do results.push(await act())
      while (lags.length < FEWEST_PARTS)
    } finally {
      over.abort()
      await looking
    }
  })
  return { results, grownMiB, lagMs: median(lags) }
}

/** The most memory that a process had during an act, beyond what it had before, in MiB. */
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

function goFirst({ pid }: Operator): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Only root may do that; then the machine must be a quiet one.
  }
}

/** One value for each part of the time until told to stop: each look begins a new one. */
async function look(gateway: Operator, lags: number[], signal: AbortSignal): Promise<void> {
  let before = await seenNow(gateway)
  while (!signal.aborted) {
    await delay(PART_MS)
    const now = await seenNow(gateway)
    // An event loop that did not turn has nothing to tell.
    const lagMs = now.lagMs === 0 ? now.atMs - before.atMs : now.lagMs
    lags.push(lagMs * shareOf(before.turns, now.turns))
    before = now
  }
}

/** What a look sees. */
interface Seen {
  readonly atMs: number
  /** The longest delay of the event loop since the last look, by the clock on the wall. */
  readonly lagMs: number
  readonly turns: Turns
}

async function seenNow(gateway: Operator): Promise<Seen> {
  const lagSeconds = valueOf(await gateway.metrics(), 'nodejs_eventloop_lag_max_seconds')
  return { atMs: performance.now(), lagMs: lagSeconds * 1000, turns: await turnsOf(gateway) }
}

/** What part of the time that it had something to do it was let do it. */
function shareOf(before: Turns, now: Turns): number {
  const ranNs = now.ranNs - before.ranNs
  return ranNs / (ranNs + now.waitedNs - before.waitedNs)
}

/** For how long a process had a processor, and for how long it waited for one. */
interface Turns {
  readonly ranNs: number
  readonly waitedNs: number
}

/** Of its first thread, which has the event loop. */
async function turnsOf({ pid }: Operator): Promise<Turns> {
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
  if (found === undefined) throw new Error(`process ${pid} tells no ${field}`)
  return Number(found) / 1024
}

/** A connection on which anything can be written. */
export interface RawConnection {
  readonly write: (bytes: string | Buffer) => void
  /** Resolves with all that was received once the other end, or `end`, has closed it. */
  readonly closed: Promise<string>
  /** What was received by now. */
  readonly received: () => string
  readonly end: () => void
}

/** Opens a connection to a gateway. @param secure whether with TLS, or bare, so that none can begin */
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
  // Its other end may reset it at any time, which ends it as well.
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

/** So many at once, of all that are to be made. */
const AT_A_TIME = 50

/** Makes many, not all at once. */
export async function openMany<Made>(
  count: number,
  make: (at: number) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = []
  let next = 0
  const makers = Array.from({ length: Math.min(AT_A_TIME, count) }, async () => {
    for (let at = next++; at < count; at = next++) made[at] = await make(at)
  })
  await Promise.all(makers)
  return made
}

// Somebody bears down on a gateway while everybody else goes on being served, and it stays quick.

/** By how much an act may make the event loop of a gateway later than it is anyway, in milliseconds. */
export const MOST_LAG_MS = 50

/** The same for bodies that are read in one go, each as much as may be in one. */
export const MOST_BODY_LAG_MS = 2 * MOST_LAG_MS

/** How long the gateway is looked at while nobody bears down on it. */
const QUIET_FOR_MS = repeated(500, 5000)

/** Bears down on the gateway of a front. */
export interface LoadScenario {
  /** How late its event loop is while nobody does, on this machine and now; milliseconds. */
  readonly quietMs: number
  /** Acts while others go on being served: each of their answers is a 200. */
  readonly borneDown: <Result>(act: () => Promise<Result>) => Promise<LoadResult<Result>>
  /**
   * Small by so many MiB, and in `make test-all` quick: by MOST_LAG_MS unless told otherwise. A median of the few
   * seconds of `make test` would measure the machine.
   */
  readonly expectWell: (pressure: LoadResult<unknown>, mostMiB: number, mostLagMs?: number) => void
}

/** The others ask for `path` with this key. */
export async function serveUnderLoad(
  front: TestGateway,
  token: string,
  path: string,
): Promise<LoadScenario> {
  const [gateway] = front.gateways
  if (!gateway) throw new Error('there is no gateway')
  const { lagMs: quietMs } = await measureUnderLoad(gateway, () => delay(QUIET_FOR_MS))
  return {
    quietMs,
    borneDown: async (act) => {
      const over = new AbortController()
      const others = everybodyElse(front, token, path, over.signal)
      // What it fails with is told at the end.
      others.catch(() => undefined)
      const pressure = await measureUnderLoad(gateway, act).finally(() => over.abort())
      const codes = await others
      expect(codes.length).toBeGreaterThan(0)
      expect(new Set(codes)).toEqual(new Set([200]))
      const { grownMiB, lagMs } = pressure
      console.log(
        `${expect.getState().currentTestName}: ${codes.length} others served, ${grownMiB.toFixed(0)} MiB more, event loop late by ${lagMs.toFixed(0)} ms, ${quietMs.toFixed(0)} anyway`,
      )
      return pressure
    },
    expectWell: ({ grownMiB, lagMs }, mostMiB, mostLagMs = MOST_LAG_MS) => {
      expect(grownMiB).toBeLessThan(mostMiB)
      if (isWhole) expect(lagMs - quietMs).toBeLessThan(mostLagMs)
    },
  }
}

/** Asks with a good key, one after the other, until told to stop; the codes. */
async function everybodyElse(
  front: TestGateway,
  token: string,
  path: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const codes: number[] = []
  while (!signal.aborted) {
    codes.push((await front.ask(token, path, { agent })).code)
    await delay(20)
  }
  agent.destroy()
  return codes
}
