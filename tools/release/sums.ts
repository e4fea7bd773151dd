// SHA256SUMS of a release, as `sha256sum --check` reads it.
import { createHash } from 'node:crypto'

/** A file of a release by its name, and its content. */
export type ReleaseFiles = ReadonlyMap<string, Buffer>

/** The SHA-256 of each file in hex, by name, in the order of names. */
export const digestsOf = (files: ReleaseFiles): ReadonlyMap<string, string> =>
  new Map(
    [...files]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, content]) => [name, createHash('sha256').update(content).digest('hex')]),
  )

/** The text of SHA256SUMS. */
export const sumsText = (digests: ReadonlyMap<string, string>): string =>
  [...digests].map(([name, digest]) => `${digest}  ${name}\n`).join('')
