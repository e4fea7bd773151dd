/** Number of late objects, and the longest delay in milliseconds; 0 when none is late. */
export interface Late {
  readonly count: number
  readonly longestMs: number
}

/** Nothing is late. */
export const NONE_LATE: Late = { count: 0, longestMs: 0 }

/** Adds one late object. */
export const withLate = ({ count, longestMs }: Late, lateMs: number): Late => ({
  count: count + 1,
  longestMs: Math.max(longestMs, lateMs),
})
