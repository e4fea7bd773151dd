// Retention of the data store, at start and from time to time (contract 22.3).
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { DataStore } from './data-store.ts'

/** How often old events are deleted, in milliseconds. */
const RETENTION_EVERY_MS = 600_000

const HOUR_MS = 3_600_000

/** Dependencies of the retention. */
interface RetentionOptions {
  readonly store: Pick<DataStore, 'deleteEventsBefore'>
  /** The setting `dataStoreTTL` in force: hours; 0 = all events are kept. */
  readonly ttlHours: () => number
  readonly clock: Clock
  /** A pass failed; the next one is in its time. @param cause may be logged */
  readonly failed: (cause: unknown) => void
}

/** Deletes old events now and every 10 minutes, until the signal. Never rejects. */
export async function keepRetention(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  const { store, ttlHours, clock, failed } = options
  while (!signal.aborted) {
    const hours = ttlHours()
    if (hours > 0)
      await store.deleteEventsBefore(clock.nowMs() - hours * HOUR_MS, signal).catch(failed)
    await sleep(clock, RETENTION_EVERY_MS, signal)
  }
}
