// The files that say who may ask the webhook, read again when they change (contract 9.6). A file that can't be used lets
// no caller in: an old token or CA must not outlive its withdrawal.
import { hash } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { type FileTexts, followFiles, readFiles } from '../../serving/followed-files.ts'
import { tokenIn } from '../../serving/token-file.ts'
import {
  type ClientAuthority,
  parseClientAuthority,
} from '../../serving/tls/client-certificates.ts'

/** Paths of `--webhook-token-file` and `--webhook-client-ca`; null = not given. */
interface CallerFiles {
  readonly tokenFile: string | null
  readonly clientAuthorityFile: string | null
}

/** Options of followCallerFiles. It reads the files until the signal aborts. */
interface FollowedCallerFiles {
  readonly files: CallerFiles
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with the authority in the file, and with each new one; empty when the file can't be used. */
  readonly trust: (authority: ClientAuthority) => void
}

/** The token in the file. */
export interface FollowedToken {
  /** SHA-256 of the token; null = there is no token, so no caller has it. */
  readonly digest: () => Buffer | null
}

/** Follows the files that are given. @returns the token; null when no file is given: then there is no webhook */
export function followCallerFiles(options: FollowedCallerFiles): FollowedToken | null {
  const { files, log, trust } = options
  if (files.tokenFile === null && files.clientAuthorityFile === null) return null
  let digest: Buffer | null = null
  if (files.tokenFile !== null)
    follow(files.tokenFile, options, (read) => {
      const found = read.ok ? tokenIn(read.texts[0]) : read
      digest = found.ok ? hash('sha256', found.token, 'buffer') : null
      if (found.ok) log.info({}, 'webhook token in use')
      else
        log.warn(
          { because: found.fault },
          'webhook token cannot be used, and no caller is accepted by it',
        )
    })
  if (files.clientAuthorityFile !== null)
    follow(files.clientAuthorityFile, options, (read) => {
      const authority = read.ok ? parseClientAuthority(read.texts[0] ?? '') : read.fault
      trust(typeof authority === 'string' ? [] : authority)
      if (typeof authority === 'string')
        log.warn(
          { because: authority },
          'webhook client CA cannot be used, and it admits no client',
        )
      else log.info({ certificates: authority.length }, 'webhook client CA in use')
    })
  return { digest: () => digest }
}

function follow(
  path: string,
  { clock, signal }: FollowedCallerFiles,
  take: (read: FileTexts) => void,
): void {
  const paths = [path]
  const first = readFiles(paths)
  take(first)
  void followFiles({ paths, first, clock, signal, changed: take })
}
