// How late everything is on this machine just now. What is promised within a second is promised by a machine
// that has time for it: one that does nothing for two of them can't be asked for less.
import { setTimeout as delay } from 'node:timers/promises'

/** Looks until the end of the block that it is used in. */
export interface EventLoopLag extends AsyncDisposable {
  /** How long a turn took at most, the one under way included, in milliseconds. */
  readonly mostMs: () => number
}

const PAUSE_MS = 10

/**
 * Goes from now on, one turn after the other, through whatever the awaited goes through, and waits for it
 * there; a turn does nothing that takes time by itself. A turn that fails is one that is over.
 */
export function measureEventLoopLag(turn: () => Promise<unknown>): EventLoopLag {
  const over = new AbortController()
  let startMs = performance.now()
  let mostMs = 0
  const sinceMs = (): number => performance.now() - startMs - PAUSE_MS
  const going = (async () => {
    while (!over.signal.aborted) {
      startMs = performance.now()
      await turn().catch(() => undefined)
      await delay(PAUSE_MS)
      mostMs = Math.max(mostMs, sinceMs())
    }
  })()
  return {
    mostMs: () => Math.max(mostMs, sinceMs()),
    [Symbol.asyncDispose]: async () => {
      over.abort()
      await going
    },
  }
}
