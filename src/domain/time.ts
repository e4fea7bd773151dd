// Formats and parses times (RFC 3339, MicroTime) and durations (Go syntax); counts overdue objects.
/**
 * Epoch milliseconds as Kubernetes writes a time: RFC 3339, UTC, with a fraction only when it is not 0.
 * Clamped to the years 0000 to 9999, the range of the format.
 */
export function formatTimestamp(atMs: number): string {
  const text = new Date(Math.min(Math.max(atMs, EARLIEST_MS), LATEST_MS)).toISOString()
  return text.replace('.000Z', 'Z')
}

/** `formatTimestamp` in whole seconds, rounded down: the precision of times in Kubernetes objects (metav1.Time). */
export const formatSecond = (atMs: number): string =>
  formatTimestamp(Math.floor(atMs / 1000) * 1000)

const EARLIEST_MS = Date.parse('0000-01-01T00:00:00Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:59Z')

const RFC_3339 =
  /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** Parses an RFC 3339 time to epoch milliseconds; null for any other value. */
export function parseTimestamp(text: unknown): number | null {
  if (typeof text !== 'string') return null
  const day = RFC_3339.exec(text)?.[1]
  if (day === undefined || !isCalendarDay(day)) return null
  const atMs = Date.parse(text.toUpperCase())
  return Number.isNaN(atMs) ? null : atMs
}

/** Date.parse reads February 30 as March 2; the API server refuses it. The first 28 days are in every month. */
function isCalendarDay(day: string): boolean {
  if (day.slice(-2) <= '28') return true
  const atMs = Date.parse(day)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(day)
}

/** Number of overdue objects, and the longest delay in milliseconds; 0 when none is overdue. */
export interface Overdue {
  readonly count: number
  readonly longestMs: number
}

/** No object is overdue. */
export const NOTHING_OVERDUE: Overdue = { count: 0, longestMs: 0 }

/** Adds one overdue object. */
export const addOverdue = ({ count, longestMs }: Overdue, lateMs: number): Overdue => ({
  count: count + 1,
  longestMs: Math.max(longestMs, lateMs),
})

/**
 * Epoch milliseconds as a MicroTime (Lease, Event): RFC 3339 in UTC with exactly six decimal digits; the
 * API server refuses any other number.
 */
export const formatMicroTime = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, -1)}000Z`

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // U+00B5, the micro sign
  μs: 1_000n, // U+03BC, the Greek letter
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

/** Go stores a duration as signed 64-bit nanoseconds: up to 292 years; the negative limit is one nanosecond further. */
const MAX_DURATION_NS = 2n ** 63n - 1n

/** Go reads the digits of a fraction into 63 bits, and ignores further digits. */
const MAX_FRACTION = 2n ** 63n

/**
 * Parses a duration in Go syntax (contract 8.1), such as `24h`, `1h30m`, `1.5s`, `-5m` or `0`, to milliseconds; the
 * result may have a fraction. null when the text is malformed or exceeds Go's maximum of 292 years. A number without
 * a unit is malformed unless it is 0.
 */
export function parseDuration(text: string): number | null {
  const negative = text.startsWith('-')
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text
  if (unsigned === '0') return 0
  const ns = nanosecondsOf(unsigned)
  if (ns === null || ns > MAX_DURATION_NS + (negative ? 1n : 0n)) return null
  const ms = Number(ns) / 1e6
  return negative && ms !== 0 ? -ms : ms
}

// Integer arithmetic, because 1.1 * 1000 in floating point is not 1100.
function nanosecondsOf(text: string): bigint | null {
  const part = /(?:0*(\d{1,19})(?:\.(\d*))?|\.(\d+))(ns|us|µs|μs|ms|s|m|h)/y
  let total = 0n
  do {
    const found = part.exec(text)
    if (!found) return null
    const [, whole = '0', fraction, onlyFraction = '', name = ''] = found
    const unit = NANOSECONDS[name] ?? 0n
    total += BigInt(whole) * unit + fractionOf(fraction ?? onlyFraction, unit)
    if (total > MAX_DURATION_NS + 1n) return null
  } while (part.lastIndex < text.length)
  return total
}

/** A fraction of a unit in nanoseconds, truncated with the same floating-point steps as time.ParseDuration. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n
  let scale = 1
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit)
    if (value > (MAX_FRACTION - 1n) / 10n || next > MAX_FRACTION) break
    value = next
    scale *= 10
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)))
}
