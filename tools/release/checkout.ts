// The checkout that a release is made of.
import { execFileSync } from 'node:child_process'

/** A clean checkout. */
export interface Checkout {
  /** 40 hex digits. */
  readonly commit: string
  /** Time of the commit, in epoch seconds. */
  readonly timeSeconds: number
}

/**
 * The commit of a checkout.
 *
 * A setting of the user's Git that hides untracked files changes nothing.
 *
 * @throws Error when files differ from the commit: a second build would not give the same. Files below `charts/` that
 * .gitignore names count, as Helm packages them
 */
export function cleanCheckout(folder: string): Checkout {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--untracked-files=all')
  const ignored = git('ls-files', '--others', '--ignored', '--exclude-standard', '--', 'charts')
  const all = [changed, ignored].filter((names) => names !== '').join('\n')
  if (all !== '')
    throw new Error(`these files differ from the commit: commit or remove them\n${all}`)
  const [commit = '', time = ''] = git('log', '-1', '--format=%H %ct').split(' ')
  return { commit, timeSeconds: Number(time) }
}
