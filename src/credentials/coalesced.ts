import type { Clock } from '../runtime/clock.ts'
import { REUSE_FOR_MS } from './freshness.ts'

const WITHIN_MS = 2000

/**
 * Reads by name, so that many who ask at once are answered by one read that left within the last second,
 * be it with what was read or with why it could not be (contract 10.4).
 *
 * @param read is told by its signal when nobody waits any more
 * @param reuseForMs how long after it left a read answers who comes later, in milliseconds
 */
export function coalesced<T>(
  clock: Clock,
  read: (name: string, signal: AbortSignal) => Promise<T>,
  reuseForMs: number = REUSE_FOR_MS,
): (name: string) => Promise<T> {
  const shared = new Map<string, Promise<T>>()
  return (name) => {
    const there = shared.get(name)
    if (there) return there
    const reading = within(clock, (signal) => read(name, signal))
    shared.set(name, reading)
    clock.schedule(reuseForMs, () => shared.delete(name))
    return reading
  }
}

/**
 * What is done within 2 seconds: nobody waits for longer, be the API server frozen or out of reach.
 *
 * @throws Error when it takes longer; it may come to an end later
 */
export async function within<T>(
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
