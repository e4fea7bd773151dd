/** The only source of time, passed as a parameter and read once per decision. */
export interface Clock {
  /** Epoch milliseconds, never running backwards (contract 2.9). */
  nowMs(): number
  /** Milliseconds of a counter that is independent of the wall clock; only differences have a meaning. */
  monotonicMs(): number
  /** Calls back once, after at least `delayMs`; the returned function cancels. */
  schedule(delayMs: number, callback: () => void): () => void
}

/**
 * Longest timer: setTimeout fires at once beyond 2^31-1 ms, and a short timer also notices a wall clock that was set.
 */
export const LONGEST_TIMER_MS = 60_000

/**
 * The clock of the process: the local wall clock, but never behind start plus monotonic time, so that setting the
 * clock back extends no credential (contract 2.9).
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
 * Runs an operation with a time limit.
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

/** A moment on both clocks of this process. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Clock.monotonicMs. */
  readonly monotonicMs: number
}

/** Now, on both clocks. */
export const currentMoment = (clock: Clock): Moment => ({
  wallMs: clock.nowMs(),
  monotonicMs: clock.monotonicMs(),
})

/**
 * Milliseconds between two moments, by the clock that shows more: the monotonic counter stops while a machine sleeps,
 * and the wall clock may be set back. A moment of null never was: infinity.
 */
export const msBetween = (then: Moment | null, now: Moment): number =>
  then === null
    ? Number.POSITIVE_INFINITY
    : Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs)

/** The later of two moments by the monotonic counter; null = neither exists. */
export const laterMoment = (a: Moment | null, b: Moment | null): Moment | null =>
  a === null || (b !== null && b.monotonicMs > a.monotonicMs) ? b : a

/** A clock that is corrected by the Date headers of the API server. */
export interface ClampedClock extends Clock {
  /** Call it for each response. @param dateMs its Date header in epoch milliseconds */
  readonly observe: (dateMs: number) => void
}

/** Tolerated difference: the Date header has whole seconds, and responses take time. */
const TOLERATED_MS = 2000

/**
 * How long the best measurement is kept: responses arrive late, never early, so the one with the least delay is the
 * best. Not longer, so that it is noticed when the API server's own clock is set back.
 */
const BELIEVED_FOR_MS = 30_000

/**
 * A clock that is never more than two seconds ahead of the API server's. A use recorded in the future is ignored
 * (contract 2.9) and can't be moved back: a gateway whose clock is ahead would end every sliding key that it sees.
 * Between two responses the monotonic counter is the limit, so that a wall clock that is set ahead has no effect.
 */
export function clampedClock(clock: Clock): ClampedClock {
  let aheadOfCounterMs = Number.POSITIVE_INFINITY
  let believedUntilMs = Number.NEGATIVE_INFINITY
  return {
    nowMs: () => Math.floor(Math.min(clock.nowMs(), clock.monotonicMs() + aheadOfCounterMs)),
    monotonicMs: () => clock.monotonicMs(),
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
    observe: (dateMs) => {
      const counterMs = clock.monotonicMs()
      const observedMs = dateMs + TOLERATED_MS - counterMs
      if (observedMs < aheadOfCounterMs && counterMs < believedUntilMs) return
      aheadOfCounterMs = observedMs
      believedUntilMs = counterMs + BELIEVED_FOR_MS
    },
  }
}

/** How soon a jump is noticed, in milliseconds: it leaves half of the second within which streams end (contract 13.4). */
const JUMP_NOTICED_WITHIN_MS = 500

/**
 * The clock with another time, which may jump forward whenever a better one arrives. Its timers end after half a second
 * at most, so that everything that waits for a time checks it again soon after a jump.
 */
export const jumpingClock = (clock: Clock, nowMs: () => number): Clock => ({
  nowMs,
  monotonicMs: () => clock.monotonicMs(),
  schedule: (delayMs, callback) =>
    clock.schedule(Math.min(delayMs, JUMP_NOTICED_WITHIN_MS), callback),
})
