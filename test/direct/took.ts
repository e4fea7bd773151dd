import { eventually } from '../support/eventually.ts'
import type { StockServer } from '../support/stock-server.ts'

/** Longer than anything here takes: the docs promise 20 s at most. */
const BOUND = { withinMs: 60_000 }

/**
 * Waits until the server refuses, or accepts, a token; prints how long that took and returns it, in
 * milliseconds. `token` is asked for at each look: the same one again, or a fresh one each time, as
 * the server remembers for 10 s whom it has accepted.
 */
export async function took(
  what: string,
  server: StockServer,
  wanted: 'accepted' | 'refused',
  token: () => string,
): Promise<number> {
  const startMs = performance.now()
  await eventually(
    what,
    async () => ((await server.whoIs(token())) !== null) === (wanted === 'accepted') || undefined,
    BOUND,
  )
  const tookMs = performance.now() - startMs
  console.log(`${what}: after ${(tookMs / 1000).toFixed(1)} s`)
  return tookMs
}
