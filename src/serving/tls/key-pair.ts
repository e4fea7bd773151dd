import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { createSecureContext } from 'node:tls'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'

/** Certificate, with its chain if it has one, and private key of a TLS server, both PEM. */
export interface CertificatePair {
  readonly certificatePem: string
  readonly keyPem: string
}

/** A pair that fits together, with fields of its certificate. Times in epoch milliseconds. */
export interface CheckedPair extends CertificatePair {
  /** Common name of the subject; empty without one. */
  readonly commonName: string
  /** Host names and IP addresses it is valid for; IPv6 as in URLs, without brackets. */
  readonly hosts: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/**
 * Checks a pair: both are PEM, and the key belongs to the certificate.
 *
 * @returns the fault of a pair that can't be served, in a clause that quotes neither file
 */
export function checkPair(pair: CertificatePair): CheckedPair | string {
  const certificate = parsed(() => new X509Certificate(pair.certificatePem))
  if (!certificate) return 'the certificate is no PEM certificate'
  const key = parsed(() => createPrivateKey(pair.keyPem))
  if (!key) return 'the key is no PEM private key without a passphrase'
  if (!certificate.checkPrivateKey(key)) return 'the key is not the one of the certificate'
  // OpenSSL refuses more than the parsers: weak keys, and a malformed chain.
  const options = { cert: pair.certificatePem, key: pair.keyPem }
  if (!parsed(() => createSecureContext(options))) return 'TLS can not be served with the pair'
  return {
    ...pair,
    commonName: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '',
    hosts: hostsOf(certificate),
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
  }
}

/** Whether a CA has signed the certificate; both are PEM. */
export function isSignedBy(certificatePem: string, authorityPem: string): boolean {
  const certificate = parsed(() => new X509Certificate(certificatePem))
  const authority = parsed(() => new X509Certificate(authorityPem))
  if (!certificate || !authority) return false
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function parsed<T>(parse: () => T): T | null {
  try {
    return parse()
  } catch {
    return null
  }
}

const hostsOf = ({ subjectAltName = '' }: X509Certificate): readonly string[] =>
  subjectAltName.split(', ').flatMap((name) => {
    const host = /^(?:DNS|IP Address):(.*)$/.exec(name)?.[1]
    return host === undefined ? [] : [isIPv6(host) ? shortIPv6(host) : host]
  })

/** The short form of URLs; OpenSSL prints all eight groups. */
export const shortIPv6 = (address: string): string =>
  new URL(`http://[${address}]`).hostname.slice(1, -1)

// A serving certificate in files, which another program renews.

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
