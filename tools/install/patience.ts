import { setTimeout as delay } from 'node:timers/promises'

/** How long nothing may change before the operator counts as dead. */
export const PATIENCE_MS = 30_000

const LOOK_MS = 1000

/** Looks again and again until nothing is left, or nothing has moved for PATIENCE_MS. Returns what is left. */
export async function whileItMoves<T>(look: () => Promise<readonly T[]>): Promise<readonly T[]> {
  let before = ''
  let movedMs = performance.now()
  for (;;) {
    const left = await look()
    const now = JSON.stringify(left)
    if (now !== before) movedMs = performance.now()
    if (left.length === 0 || performance.now() - movedMs > PATIENCE_MS) return left
    before = now
    await delay(LOOK_MS)
  }
}
