import { auditOf, type AuditedWrite } from '../support/audit.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { repeated } from '../support/tier.ts'

const QUIET_MS = repeated(2000, 60_000)
const A_MOMENT_MS = 1000
const SOON = { withinMs: 20_000 }

/**
 * What is written in a minute after the last fault (two seconds in `make test`), but to Leases. It begins when nobody writes any
 * more, and `meanwhile` must hold all the time.
 */
export async function writesInAMinute(
  plane: TestControlPlane,
  meanwhile: () => Promise<void>,
): Promise<readonly AuditedWrite[]> {
  const audit = auditOf(plane)
  const mark = await eventually(
    'nobody writes any more',
    async () => {
      const now = await audit.mark()
      await staysTrue('all is well', meanwhile, { forMs: A_MOMENT_MS })
      const writes = await audit.writesSince(now, { notLeases: true })
      if (writes.length > 0) throw new Error(JSON.stringify(writes))
      return now
    },
    SOON,
  )
  await staysTrue('all is well', meanwhile, { forMs: QUIET_MS })
  return audit.writesSince(mark, { notLeases: true })
}
