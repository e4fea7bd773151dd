// Writes that record the last use of keys, however often these are used.
import type { Operator } from '../../test/support/command-process.ts'
import { valueOf } from '../../test/support/metrics-page.ts'
import type { Measured } from '../measure/rounds.ts'

/** Counts recorded uses. */
export const ACTIVITY_WRITES = 'platform_gateway_activity_writes_total'

/** Keys that the loads use: the caller's, and one with a scope. */
const USED_KEYS = 2

/** Counts recorded uses from now on. Call the returned function after at least a minute of loads. */
export async function watchLastUses(gateway: Operator): Promise<() => Promise<Measured>> {
  const startMs = performance.now()
  const before = valueOf(await gateway.metrics(), ACTIVITY_WRITES)
  return async () => {
    const minutes = Math.max(1, (performance.now() - startMs) / 60_000)
    const writes = valueOf(await gateway.metrics(), ACTIVITY_WRITES) - before
    return { gateway: [{ writesPerKeyAndMinute: writes / USED_KEYS / minutes }] }
  }
}
