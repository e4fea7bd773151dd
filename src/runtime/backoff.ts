/** First and longest delay of a back-off, in milliseconds. */
interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The delay before a retry in milliseconds, which doubles with each retry up to the longest.
 *
 * @param retries number of retries before this one
 */
export const backoffMs = ({ firstMs, longestMs }: Backoff, retries: number): number =>
  Math.min(firstMs * 2 ** retries, longestMs)
