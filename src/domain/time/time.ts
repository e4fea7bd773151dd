/**
 * Epoch milliseconds as Kubernetes writes a time: RFC 3339, UTC, with a fraction only when it is not 0.
 * Clamped to the years 0000 to 9999, which are all that the format allows.
 */
export function formatTimestamp(atMs: number): string {
  const text = new Date(Math.min(Math.max(atMs, FIRST_MS), LAST_MS)).toISOString()
  return text.replace('.000Z', 'Z')
}

const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59Z')

const RFC_3339 =
  /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** Epoch milliseconds of an RFC 3339 text; null for any other value. */
export function parseTimestamp(text: unknown): number | null {
  if (typeof text !== 'string') return null
  const day = RFC_3339.exec(text)?.[1]
  if (day === undefined || !isInCalendar(day)) return null
  const atMs = Date.parse(text.toUpperCase())
  return Number.isNaN(atMs) ? null : atMs
}

/** Date.parse reads February 30 as March 2; the API server refuses it, and so do we. */
function isInCalendar(day: string): boolean {
  const atMs = Date.parse(day)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(day)
}

/** Number of late objects, and the longest delay in milliseconds; 0 when none is late. */
export interface Overdue {
  readonly count: number
  readonly longestMs: number
}

/** Nothing is late. */
export const NOTHING_OVERDUE: Overdue = { count: 0, longestMs: 0 }

/** Adds one late object. */
export const addOverdue = ({ count, longestMs }: Overdue, lateMs: number): Overdue => ({
  count: count + 1,
  longestMs: Math.max(longestMs, lateMs),
})

/**
 * Epoch milliseconds as a MicroTime (Lease, Event): RFC 3339 in UTC with exactly six digits, for the
 * API server refuses any other number of them.
 */
export const formatMicroTime = (atMs: number): string =>
  new Date(atMs).toISOString().replace('Z', '000Z')
