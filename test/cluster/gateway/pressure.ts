// What a gateway goes through while somebody bears down on it: its memory and its event loop, as it tells
// them itself. And clients that misbehave, byte by byte.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectSecure } from 'node:tls'
import type { Operator } from '../../support/observe.ts'

/** What an act did to a process. */
export interface Pressure<Result> {
  readonly result: Result
  /** The most memory it had meanwhile, beyond what it had before, in MiB. */
  readonly grownMiB: number
  /**
   * The delay of its event loop that 99 of 100 were below, in milliseconds, in the quietest second: what
   * comes from what it has to do is in each of them, what comes from a busy machine is not.
   */
  readonly lagMs: number
}

/** The parts in which the event loop is looked at. */
const PART_MS = 1000

/**
 * Acts, and looks at the process meanwhile, which goes first where the machine has too much to do: what
 * others on it have to do is not what is measured.
 */
export async function underPressure<Result>(
  gateway: Operator,
  act: () => Promise<Result>,
): Promise<Pressure<Result>> {
  goFirst(gateway)
  const beforeMiB = await memoryOf(gateway, 'VmRSS')
  await writeFile(`/proc/${gateway.pid}/clear_refs`, '5')
  const over = new AbortController()
  const lags = lagsOf(gateway, over.signal)
  const result = await act().finally(() => over.abort())
  const lagMs = Math.min(...(await lags))
  const grownMiB = (await memoryOf(gateway, 'VmHWM')) - beforeMiB
  return { result, grownMiB, lagMs }
}

function goFirst({ pid }: Operator): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Only root may do that; then the machine must be a quiet one.
  }
}

/** One value for each part of the time until told to stop: each look begins a new one. */
async function lagsOf(gateway: Operator, signal: AbortSignal): Promise<readonly number[]> {
  await lagOf(gateway)
  const lags: number[] = []
  do {
    await delay(PART_MS)
    lags.push(await lagOf(gateway))
  } while (!signal.aborted)
  return lags
}

async function lagOf(operator: Operator): Promise<number> {
  const found = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await operator.metrics())?.[1]
  if (found === undefined) throw new Error('the metrics page has no event loop lag')
  return Number(found) * 1000
}

async function memoryOf({ pid }: Operator, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  if (found === undefined) throw new Error(`process ${pid} tells no ${field}`)
  return Number(found) / 1024
}

/** A connection on which anything can be written. */
export interface Wire {
  readonly write: (bytes: string | Buffer) => void
  /** Resolves with all that was received once the other end, or `end`, has closed it. */
  readonly closed: Promise<string>
  /** What was received by now. */
  readonly received: () => string
  readonly end: () => void
}

/** Opens a connection to a gateway. @param secure whether with TLS, or bare, so that none can begin */
export async function openWire(url: string, ca: string, secure = true): Promise<Wire> {
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
export async function many<Made>(
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
