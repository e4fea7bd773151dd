/** The waits between retries, in milliseconds. */
interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The wait before a retry: doubled each time, up to the longest.
 *
 * @param retries the retries before this one; 0 = none
 */
export const backoffMs = ({ firstMs, longestMs }: Backoff, retries: number): number =>
  Math.min(firstMs * 2 ** retries, longestMs)
