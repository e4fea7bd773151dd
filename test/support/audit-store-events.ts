// Questions and events for tests of the data store.
import { parseAuditQuery, type AuditQuery } from '../../src/domain/audit/query.ts'
import { auditLine, type BuiltEvent } from './audit-event-builder.ts'

/** The question of these filters; throws where they are malformed. */
export function auditQuery(filters: Readonly<Record<string, string>> = {}): AuditQuery {
  const parsed = parseAuditQuery(Object.entries(filters), Date.UTC(2026, 10, 29))
  if (parsed.kind === 'malformed') throw new Error(parsed.fault)
  return parsed.query
}

/** The line of an event with this number, a second after the one before it. */
export const eventLine = (number: number, fields: BuiltEvent = {}): string =>
  auditLine({
    auditID: `id-${number}`,
    stageTimestamp: new Date(EVENTS_FROM_MS + number * 1000).toISOString().replace('Z', '000Z'),
    ...fields,
  })

/** The stage time of event 0, in epoch milliseconds. */
export const EVENTS_FROM_MS = Date.UTC(2026, 10, 28, 12)

/** Lines of events from one number on. */
export const eventLines = (
  first: number,
  count: number,
  fields: BuiltEvent = {},
): readonly string[] => Array.from({ length: count }, (_, at) => eventLine(first + at, fields))

/** The auditID of each line. */
export const auditIDsOf = (events: readonly string[]): readonly string[] =>
  events.map((event) => (JSON.parse(event) as { readonly auditID: string }).auditID)
