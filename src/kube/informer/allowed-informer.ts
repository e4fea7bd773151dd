// Informers of objects that this process may have no right to: their namespace may be made later than the process, or never.
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'

/** Dependencies of startWhenAllowed. */
interface AllowedInformerOptions {
  /** Whether the process may watch them now. May reject. */
  readonly isAllowed: (signal: AbortSignal) => Promise<boolean>
  readonly start: () => void
  readonly clock: Clock
  readonly log: Log
  /** Ends the wait. */
  readonly signal: AbortSignal
}

/** How long it takes at most until the process notices a new right. */
const ASK_EVERY_MS = 10_000

/**
 * Asks again and again whether the process may watch the objects, and starts the watch once it may. A right that is lost
 * later is not noticed here: the watch fails then, and says so. Resolves when the watch is started, or at the signal.
 */
export async function startWhenAllowed({
  isAllowed,
  start,
  clock,
  log,
  signal,
}: AllowedInformerOptions): Promise<void> {
  while (!signal.aborted) {
    const answer = await isAllowed(signal).catch((error: unknown) => {
      if (!signal.aborted) log.debug({ err: error }, 'own rights are unknown, asking again')
      return false
    })
    if (signal.aborted) return
    if (answer) return start()
    await sleep(clock, ASK_EVERY_MS, signal)
  }
}
