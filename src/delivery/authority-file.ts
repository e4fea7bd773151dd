// The file of a certificate authority that delivery trusts, or names in Secrets.
import type { Clock } from '../runtime/clock.ts'
import { followFiles, readFiles } from '../serving/followed-files.ts'

/** Options of followAuthorityFile. It reads the file until the signal aborts. */
interface FollowedAuthorityFile {
  readonly path: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called with the PEM now and after each change; not while the file is empty or can't be read. */
  readonly found: (pem: string) => void
}

/** Follows the file. @returns why it can't be read now, as a clause; null = it can */
export function followAuthorityFile(options: FollowedAuthorityFile): string | null {
  const { path, clock, signal, found } = options
  const first = readFiles([path])
  const take = ([pem = '']: readonly string[]): void => {
    if (pem !== '') found(pem)
  }
  if (first.ok) take(first.texts)
  const changed = (read: typeof first): void => {
    if (read.ok) take(read.texts)
  }
  void followFiles({ paths: [path], first, clock, signal, changed })
  return first.ok ? null : first.fault
}
