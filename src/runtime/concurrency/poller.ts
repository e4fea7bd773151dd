import { type Clock, sleep } from '../clock.ts'
import type { Log } from '../log.ts'
import { type Moment, laterMoment, currentMoment, msBetween } from '../moment.ts'
import { singleFlight } from './single-flight.ts'

/** What is polled, and how. */
export interface PollerOptions {
  /** For the log and readiness, such as `settings`. */
  readonly what: string
  readonly clock: Clock
  readonly log: Log
  /** Reads everything, or throws. */
  readonly read: (signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  /** Between the end of a read and the next one, in milliseconds. */
  readonly everyMs: number
  /** For how long a read proves what it found, in milliseconds from its sending. */
  readonly freshForMs: number
}

/** Something that is read again and again (contract 10.4). */
export interface Poller {
  /** When the last successful read was sent; null = there is none yet. */
  readonly provenAt: () => Moment | null
  /** Whether the knowledge is fresh, after another read where it was not. Never rejects. */
  readonly refreshed: () => Promise<boolean>
}

/** Reads at once, and again every `everyMs` until the signal aborts. */
export function startPoller(options: PollerOptions): Poller {
  const { what, clock, log, read, signal, everyMs, freshForMs } = options
  let proven: Moment | null = null
  let isFailing = false
  const readNow = singleFlight(clock, async (_, abort) => {
    const left = currentMoment(clock)
    await read(abort)
    proven = laterMoment(proven, left)
  })
  const attempt = async (): Promise<void> => {
    try {
      await readNow(what)
      if (isFailing) log.info({ what }, 'settings or roles are read again')
      isFailing = false
    } catch (err) {
      if (!isFailing && !signal.aborted)
        log.warn({ what, err }, 'can not read settings or roles, trying again')
      isFailing = true
    }
  }
  const readForever = async (): Promise<void> => {
    while (!signal.aborted) {
      await attempt()
      await sleep(clock, everyMs, signal)
    }
  }
  void readForever()
  const isFresh = (): boolean => msBetween(proven, currentMoment(clock)) <= freshForMs
  return {
    provenAt: () => proven,
    refreshed: async () => {
      if (!isFresh()) await attempt()
      return isFresh()
    },
  }
}
