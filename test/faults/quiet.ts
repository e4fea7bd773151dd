import { expect } from 'vitest'
import { auditOf, type Mark } from '../support/audit.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually, staysTrue } from '../support/eventually.ts'

const QUIET_MS = 60_000
const A_MOMENT_MS = 1000
const SOON = { withinMs: 20_000 }

/**
 * After the last fault: waits until nobody writes, and then a minute in which nobody may, the Leases
 * of leader election left out.
 */
export async function expectQuiet(plane: TestControlPlane): Promise<void> {
  const audit = auditOf(plane)
  const isSilentSince = (mark: Mark) => async () =>
    expect(await audit.writesSince(mark, { notLeases: true })).toEqual([])
  const mark = await eventually(
    'nobody writes any more',
    async () => {
      const now = await audit.mark()
      await staysTrue('nobody writes', isSilentSince(now), { forMs: A_MOMENT_MS })
      return now
    },
    SOON,
  )
  await staysTrue('only Leases are written', isSilentSince(mark), { forMs: QUIET_MS })
}
