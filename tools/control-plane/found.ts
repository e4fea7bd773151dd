// Programs that tests of the charts need and not every machine can build.

/** Builds a program unless it is there. @returns its path. @throws Error whose first line has the ways out */
export type Ensure = (log: (line: string) => void) => Promise<string>

/** The path of a program, or why this machine has none. */
export type Found = { readonly path: string } | { readonly path: null; readonly reason: string }

/**
 * The program, or the first line of what it could not be built for; the rest, such as the output of Go, goes to the log.
 *
 * @throws Error instead of a reason where CI is set: there nothing may be skipped for lack of a program
 */
export async function foundBy(ensure: Ensure, log: (line: string) => void): Promise<Found> {
  try {
    return { path: await ensure(log) }
  } catch (error) {
    if (process.env['CI']) throw error
    const [reason = '', ...details] = (error as Error).message.split('\n')
    if (details.length > 0) log(details.join('\n'))
    return { path: null, reason }
  }
}
