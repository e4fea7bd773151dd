// Shares one call among many callers.
import { type Clock, withTimeout } from '../clock.ts'

/** Times of a shared read, in milliseconds from its start. */
export interface SingleFlightLimits {
  /** Callers within this time share the read, even if it has finished; later callers start another one. */
  readonly reuseForMs: number
  /** The read fails after this time. */
  readonly timeoutMs: number
}

/**
 * Shares reads by name: all callers within `reuseForMs` get the value or the error of one read.
 *
 * @param read its signal aborts at the timeout
 */
export function singleFlight<T>(
  clock: Clock,
  read: (name: string, signal: AbortSignal) => Promise<T>,
  { reuseForMs, timeoutMs }: SingleFlightLimits,
): (name: string) => Promise<T> {
  const shared = new Map<string, Promise<T>>()
  return (name) => {
    const present = shared.get(name)
    if (present) return present
    const reading = withTimeout(clock, timeoutMs, (signal) => read(name, signal))
    shared.set(name, reading)
    clock.schedule(reuseForMs, () => shared.delete(name))
    return reading
  }
}

/**
 * Runs `act` for one caller at a time. Callers during a run share its result or error, and their own arguments are
 * ignored; the next call after its end starts a new run.
 */
export function shareRun<Args extends readonly unknown[], Result>(
  act: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let running: Promise<Result> | null = null
  return (...args) => {
    running ??= act(...args).finally(() => {
      running = null
    })
    return running
  }
}
