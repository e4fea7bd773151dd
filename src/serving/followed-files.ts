// Files that another program renews while this one runs, such as those of a mounted Secret.
import { readFileSync } from 'node:fs'
import { type Clock, sleep } from '../runtime/clock.ts'

/** The texts of files, in the order of their paths, or why they can't be read, as a clause. */
export type FileTexts =
  | { readonly ok: true; readonly texts: readonly string[] }
  | { readonly ok: false; readonly fault: string }

/** Reads files, all or none. Never throws. */
export function readFiles(paths: readonly string[]): FileTexts {
  try {
    return { ok: true, texts: paths.map((path) => readFileSync(path, 'utf8')) }
  } catch (error) {
    const { code = 'unreadable', path = paths.join(', ') } = error as NodeJS.ErrnoException
    return { ok: false, fault: `${path} cannot be read (${code})` }
  }
}

/** Options of followFiles. It reads the files until the signal aborts. */
interface FollowedFiles {
  readonly paths: readonly string[]
  /** The texts that the caller has read already. */
  readonly first: FileTexts
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called when the files changed, or can no longer be read. */
  readonly changed: (read: FileTexts) => void
}

/**
 * Pause between two reads. File events would miss updates: in a mounted Secret a symbolic link two levels up changes,
 * and network file systems send no events.
 */
const READ_EVERY_MS = 2000

/** Reads the files again and again. Resolves when the signal aborts. */
export async function followFiles(options: FollowedFiles): Promise<void> {
  const { paths, first, clock, signal, changed } = options
  let before = first
  for (;;) {
    await sleep(clock, READ_EVERY_MS, signal)
    if (signal.aborted) return
    const read = readFiles(paths)
    if (isSame(read, before)) continue
    before = read
    changed(read)
  }
}

const isSame = (one: FileTexts, other: FileTexts): boolean =>
  one.ok && other.ok
    ? one.texts.every((text, at) => text === other.texts[at])
    : !one.ok && !other.ok && one.fault === other.fault

/** Follows one file until the signal aborts. @returns the function that gives what was read last */
export function followText(
  path: string,
  { clock, signal }: Pick<FollowedFiles, 'clock' | 'signal'>,
): () => FileTexts {
  const paths = [path]
  const first = readFiles(paths)
  let last = first
  const changed = (read: FileTexts): void => {
    last = read
  }
  void followFiles({ paths, first, clock, signal, changed })
  return () => last
}
