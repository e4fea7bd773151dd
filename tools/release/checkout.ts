// The checkout that a release is made of.
import { execFileSync } from 'node:child_process'

/** A clean checkout. */
export interface Checkout {
  /** 40 hex digits. */
  readonly commit: string
  /** Time of the commit, in epoch seconds. */
  readonly timeSeconds: number
}

/** The commit of a checkout. @throws Error when files differ from it: a second build would not give the same */
export function cleanCheckout(folder: string): Checkout {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain')
  if (changed !== '')
    throw new Error(`these files differ from the commit: commit or remove them\n${changed}`)
  const [commit = '', time = ''] = git('log', '-1', '--format=%H %ct').split(' ')
  return { commit, timeSeconds: Number(time) }
}
