// When a file of the audit log is full (contract 22.1). Pure.

/** The lines that are written next, all to one file. */
interface Portion {
  /** Whether the present file becomes a backup first. */
  readonly isRotated: boolean
  /** How many lines; one at least, if there is one. */
  readonly count: number
}

/**
 * The first of the lines that fit into one file. A line longer than a file has one of its own.
 *
 * @param lineBytes of each line, with its line feed
 * @param fileBytes what the present file has
 */
export function nextPortion(
  lineBytes: readonly number[],
  fileBytes: number,
  maxBytes: number,
): Portion {
  const [first = 0] = lineBytes
  const isRotated = fileBytes > 0 && fileBytes + first > maxBytes
  let bytes = isRotated ? 0 : fileBytes
  const end = lineBytes.findIndex((line, place) => (bytes += line) > maxBytes && place > 0)
  return { isRotated, count: end === -1 ? lineBytes.length : end }
}
