/** The only source of time, passed as a parameter and read once per decision. */
export interface Clock {
  /** Epoch milliseconds, never running backwards (contract 2.9). */
  nowMs(): number
  /** Milliseconds of a counter that clock steps don't change; use only differences. */
  monotonicMs(): number
  /** Calls back once, after at least `delayMs`; the returned function cancels. */
  schedule(delayMs: number, callback: () => void): () => void
}

/** setTimeout fires at once beyond 2^31-1 ms; a short timer also notices a stepped wall clock. */
export const LONGEST_TIMER_MS = 60_000

/**
 * The process's clock: the local wall clock, but never behind start + monotonic time. So a clock that
 * is set back renews no credential (contract 2.9).
 */
export function systemClock(): Clock {
  const startWallMs = Date.now()
  const startMonotonicMs = performance.now()
  return {
    nowMs: () =>
      Math.floor(Math.max(Date.now(), startWallMs + performance.now() - startMonotonicMs)),
    monotonicMs: () => performance.now(),
    schedule: (delayMs, callback) => {
      const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS))
      return () => clearTimeout(timer)
    },
  }
}

/**
 * Waits `delayMs`, in timers of a minute at most, or until the signal aborts.
 * Never rejects: callers check the signal.
 */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const dueMs = clock.monotonicMs() + delayMs
  while (!signal.aborted) {
    const leftMs = dueMs - clock.monotonicMs()
    if (leftMs <= 0) return
    await once(clock, leftMs, signal)
  }
}

/**
 * The result within `timeoutMs`.
 *
 * @param act its signal aborts at the timeout
 * @throws Error when it takes longer; the operation itself may still finish
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const cancel = clock.schedule(timeoutMs, () => {
    const error = new Error(`no answer within ${timeoutMs} ms`)
    abort.abort(error)
    reject(error)
  })
  try {
    return await Promise.race([act(abort.signal), late])
  } finally {
    cancel()
  }
}

function once(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const cancel = clock.schedule(delayMs, finish)
    signal.addEventListener('abort', finish, { once: true })
  })
}
