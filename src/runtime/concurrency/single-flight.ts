import type { Clock } from '../clock.ts'

const WITHIN_MS = 2000

/** For how long an answer may be reused (contract 10.4). */
export const REUSE_FOR_MS = 1000

/**
 * Shares reads by name: one read, sent within the last second, answers all callers, with its value or its
 * error (contract 10.4).
 *
 * @param read its signal aborts when no caller waits any more
 * @param reuseForMs for how long after its start a read answers later callers, in milliseconds
 */
export function singleFlight<T>(
  clock: Clock,
  read: (name: string, signal: AbortSignal) => Promise<T>,
  reuseForMs: number = REUSE_FOR_MS,
): (name: string) => Promise<T> {
  const shared = new Map<string, Promise<T>>()
  return (name) => {
    const there = shared.get(name)
    if (there) return there
    const reading = withTimeout(clock, (signal) => read(name, signal))
    shared.set(name, reading)
    clock.schedule(reuseForMs, () => shared.delete(name))
    return reading
  }
}

/**
 * Bounds a read or write to 2 seconds: no caller waits longer for an API server that is frozen or unreachable.
 *
 * @throws Error when it takes longer; the operation itself may still finish
 */
export async function withTimeout<T>(
  clock: Clock,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const cancel = clock.schedule(WITHIN_MS, () => {
    const error = new Error(`the API server did not answer within ${WITHIN_MS} ms`)
    abort.abort(error)
    reject(error)
  })
  try {
    return await Promise.race([act(abort.signal), late])
  } finally {
    cancel()
  }
}
