import { type Clock, currentMoment, laterMoment, type Moment, msBetween, sleep } from '../clock.ts'
import type { Log } from '../log.ts'
import { type SingleFlightLimits, singleFlight } from './single-flight.ts'

/** Options of a poller. */
interface PollerOptions extends SingleFlightLimits {
  /** The subject, for the log, such as `settings`. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  /** Reads and stores the subject. Throws if it can't be read completely. */
  readonly read: (signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  /** Pause between the end of a read and the next one, in milliseconds. */
  readonly everyMs: number
  /** How long the result of a read counts as fresh, in milliseconds from the start of the read. */
  readonly freshForMs: number
}

/** A read that is repeated (contract 10.4). */
export interface Poller {
  /** When the last successful read started; null = no read has succeeded yet. */
  readonly provenAt: () => Moment | null
  /** Whether the result is fresh, without reading it again. */
  readonly isFresh: () => boolean
  /** Whether the result is fresh. A stale result is first read again. Never rejects. */
  readonly refreshed: () => Promise<boolean>
}

/** Reads at once, and again every `everyMs` until the signal aborts. */
export function startPoller(options: PollerOptions): Poller {
  const { name, clock, log, read, signal, everyMs, freshForMs } = options
  let proven: Moment | null = null
  let isFailing = false
  const readNow = singleFlight(
    clock,
    async (_, abort) => {
      const started = currentMoment(clock)
      await read(abort)
      proven = laterMoment(proven, started)
    },
    options,
  )
  const attempt = async (): Promise<void> => {
    try {
      await readNow(name)
      if (isFailing) log.info({ name }, 'settings, roles, targets or records are read again')
      isFailing = false
    } catch (err) {
      if (!isFailing && !signal.aborted)
        log.warn({ name, err }, 'cannot read settings, roles, targets or records, trying again')
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
    isFresh,
    refreshed: async () => {
      if (!isFresh()) await attempt()
      return isFresh()
    },
  }
}
