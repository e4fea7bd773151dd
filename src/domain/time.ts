// Texts of times and durations: RFC 3339, MicroTime and durations in Go syntax; and counts of overdue objects.
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

/** Date.parse reads February 30 as March 2; the API server refuses it. */
function isInCalendar(day: string): boolean {
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
  new Date(atMs).toISOString().replace('Z', '000Z')

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

/** Go keeps a duration in a signed 64-bit count of nanoseconds: 292 years, and one more below 0. */
const LONGEST_NS = 2n ** 63n - 1n

/** Go reads the digits of a fraction into 63 bits, and ignores further digits. */
const LONGEST_FRACTION = 2n ** 63n

/**
 * Reads a duration in Go syntax (contract 8.1), such as `24h`, `1h30m`, `1.5s`, `-5m` or `0`.
 *
 * In milliseconds, with a fraction below one; null when it is malformed or longer than Go's longest
 * (292 years). A number without a unit is malformed unless it is 0.
 */
export function parseDuration(text: string): number | null {
  const negative = text.startsWith('-')
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text
  if (unsigned === '0') return 0
  const ns = nanosecondsOf(unsigned)
  if (ns === null || ns > LONGEST_NS + (negative ? 1n : 0n)) return null
  const ms = Number(ns) / 1e6
  return negative && ms !== 0 ? -ms : ms
}

// In whole numbers: 1.1 s is 1100 ms, which 1.1 * 1000 in floating point is not.
function nanosecondsOf(text: string): bigint | null {
  const part = /(?:0*(\d{1,19})(?:\.(\d*))?|\.(\d+))(ns|us|µs|μs|ms|s|m|h)/y
  let total = 0n
  do {
    const found = part.exec(text)
    if (!found) return null
    const [, whole = '0', after, alone = '', name = ''] = found
    const unit = NANOSECONDS[name] ?? 0n
    total += BigInt(whole) * unit + fractionOf(after ?? alone, unit)
    if (total > LONGEST_NS + 1n) return null
  } while (part.lastIndex < text.length)
  return total
}

/** A fraction of a unit in nanoseconds, truncated with the same floating-point steps as time.ParseDuration. */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n
  let scale = 1
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit)
    if (value > (LONGEST_FRACTION - 1n) / 10n || next > LONGEST_FRACTION) break
    value = next
    scale *= 10
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)))
}
