// Events leave the data store when they are old enough (contract 22.3).
import type { Databases } from './databases.ts'

/** How many events a statement deletes at most: each holds locks for a moment only. */
const MOST_DELETED_AT_ONCE = 1000

/**
 * Deletes events that reached their stage before a time, oldest first.
 *
 * @param beforeMs epoch milliseconds
 * @param signal ends it between two statements
 * @returns how many were deleted
 */
export async function deleteEventsBefore(
  databases: Databases,
  beforeMs: number,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0
  for (;;) {
    const count = signal.aborted ? 0 : await deleteOldest(databases, beforeMs)
    deleted += count
    if (count < MOST_DELETED_AT_ONCE) return deleted
  }
}

async function deleteOldest({ kind, writer }: Databases, beforeMs: number): Promise<number> {
  const { numDeletedRows } = await (kind === 'mysql'
    ? writer
        .deleteFrom('audit_events')
        .where('stage_time', '<', beforeMs)
        .orderBy('stage_time')
        .limit(MOST_DELETED_AT_ONCE)
    : writer.deleteFrom('audit_events').where('id', 'in', (from) => {
        const oldest = from
          .selectFrom('audit_events')
          .select('id')
          .where('stage_time', '<', beforeMs)
          .orderBy('stage_time')
          .limit(MOST_DELETED_AT_ONCE)
        // Two replicas that delete at a time would wait for each other.
        return kind === 'postgres' ? oldest.forUpdate().skipLocked() : oldest
      })
  ).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
