// A serving certificate in files, which another program renews.
import { readFileSync } from 'node:fs'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { type CheckedPair, checkPair } from './key-pair.ts'

/** Paths of `--tls-cert-file` and `--tls-private-key-file`. */
export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

/** Options of followCertificateFiles; the signal ends it. */
interface FollowFilesOptions {
  readonly files: CertificateFiles
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with each pair to serve. */
  readonly take: (pair: CheckedPair) => void
}

/**
 * Between two reads. The files are read, not watched: in a mounted Secret a symbolic link two levels up
 * changes, and network file systems send no file events.
 */
const READ_EVERY_MS = 2000

/**
 * Serves the pair in the files, and each new pair (contract 9.7). When files can't be read or do not fit
 * together, as between two renames, the last good pair stays, and the log says why.
 *
 * @throws Error with the fault when the first pair can't be served
 */
export function followCertificateFiles(options: FollowFilesOptions): void {
  const first = read(options.files)
  if (typeof first.pair === 'string')
    throw new Error(`--tls-cert-file and --tls-private-key-file: ${first.pair}`)
  options.take(first.pair)
  void follow(options, first.seen)
}

async function follow(options: FollowFilesOptions, first: string): Promise<void> {
  const { files, clock, log, signal, take } = options
  let before = first
  for (;;) {
    await sleep(clock, READ_EVERY_MS, signal)
    if (signal.aborted) return
    const { seen, pair } = read(files)
    if (seen === before) continue
    before = seen
    if (typeof pair !== 'string') take(pair)
    else log.warn({ because: pair }, 'certificate files can not be served, the pair before stays')
  }
}

/** `seen` changes with the content of the files. */
function read({ certificateFile, keyFile }: CertificateFiles): {
  readonly seen: string
  readonly pair: CheckedPair | string
} {
  try {
    const certificatePem = readFileSync(certificateFile, 'utf8')
    const keyPem = readFileSync(keyFile, 'utf8')
    return { seen: certificatePem + keyPem, pair: checkPair({ certificatePem, keyPem }) }
  } catch (error) {
    const { code = 'unreadable', path = '' } = error as NodeJS.ErrnoException
    return { seen: code, pair: `${path} can not be read (${code})` }
  }
}
