import { type Moment, RENEW_AFTER_MS, isFresh, later, momentOf } from '../../authn/staleness.ts'
import { type Clock, sleep } from '../clock.ts'
import type { Log } from '../log.ts'
import { coalesced } from './single-flight.ts'

/** What is polled, and how. */
export interface PollOptions {
  /** For the log and readiness, such as `settings`. */
  readonly what: string
  readonly clock: Clock
  readonly log: Log
  /** Reads everything, or throws. */
  readonly read: (signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

/** Something that is read every 5 seconds (contract 10.4). */
export interface Polled {
  /** When the last successful read was sent; null = there is none yet. */
  readonly provenAt: () => Moment | null
  /** Whether the knowledge is fresh, after another read where it was not. Never rejects. */
  readonly refreshed: () => Promise<boolean>
}

/** Reads at once, and again every 5 seconds until the signal aborts. */
export function poll({ what, clock, log, read, signal }: PollOptions): Polled {
  let proven: Moment | null = null
  let isFailing = false
  const readNow = coalesced(clock, async (_, abort) => {
    const left = momentOf(clock)
    await read(abort)
    proven = later(proven, left)
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
      await sleep(clock, RENEW_AFTER_MS, signal)
    }
  }
  void readForever()
  return {
    provenAt: () => proven,
    refreshed: async () => {
      if (!isFresh(proven, momentOf(clock))) await attempt()
      return isFresh(proven, momentOf(clock))
    },
  }
}
