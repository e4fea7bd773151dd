// SHA256SUMS of a release, as `sha256sum --check` reads it. Pure.
import { createHash } from 'node:crypto'

/** A file of a release by its name, and its content. */
export type ReleaseFiles = ReadonlyMap<string, Buffer>

/** The file with the sum of every other. */
export const SUMS = 'SHA256SUMS'

/** The signature of SHA256SUMS, which it can't name. */
export const SIGNATURE = `${SUMS}.sigstore.json`

const LINE = /^(?<digest>[0-9a-f]{64}) {2}(?<name>\S+)$/

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

/**
 * Each difference between the files of a release and their SHA256SUMS, as a sentence; empty = they agree.
 *
 * `sha256sum --check` finds a changed or missing file. It does not find a file without a sum, which a signature of
 * SHA256SUMS would not cover.
 */
export function sumFaults(files: ReleaseFiles): readonly string[] {
  const text = files.get(SUMS)?.toString()
  if (text === undefined) return [`${SUMS} is missing`]
  const lines = text.trimEnd().split('\n')
  const summed = new Map(
    lines.flatMap((line) => {
      const { name, digest } = LINE.exec(line)?.groups ?? {}
      return name === undefined || digest === undefined ? [] : [[name, digest] as const]
    }),
  )
  const found = digestsOf(
    new Map([...files].filter(([name]) => name !== SUMS && name !== SIGNATURE)),
  )
  return [
    ...lines
      .filter((line) => !LINE.test(line))
      .map((line) => `${SUMS} has a line without a sum: ${JSON.stringify(line)}`),
    ...[...found].flatMap(([name, digest]) => faultOf(name, digest, summed.get(name))),
    ...[...summed.keys()]
      .filter((name) => !found.has(name))
      .map((name) => `${name} is in ${SUMS} and missing`),
  ]
}

function faultOf(name: string, found: string, summed: string | undefined): readonly string[] {
  if (summed === undefined) return [`${name} is not in ${SUMS}`]
  return summed === found ? [] : [`${name} has another sum than ${SUMS} says`]
}
