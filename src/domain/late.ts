/** How many are late, and how late the latest of them is, in milliseconds; 0 where none is. */
export interface Late {
  readonly count: number
  readonly longestMs: number
}

/** Nothing is late. */
export const NONE_LATE: Late = { count: 0, longestMs: 0 }

/** The same with one more. */
export const withLate = ({ count, longestMs }: Late, lateMs: number): Late => ({
  count: count + 1,
  longestMs: Math.max(longestMs, lateMs),
})
