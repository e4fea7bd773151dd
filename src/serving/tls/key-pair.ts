import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { type FileTexts, followFiles, readFiles } from '../followed-files.ts'

/** Certificate, with its chain if it has one, and private key of a TLS server, both PEM. */
export interface CertificatePair {
  readonly certificatePem: string
  readonly keyPem: string
}

/** A certificate with its matching private key, and fields of the certificate. Times in epoch milliseconds. */
export interface ValidCertificatePair extends CertificatePair {
  /** Common name of the subject; empty = it has none. */
  readonly commonName: string
  /** DNS names and IP addresses in the subject alternative name; IPv6 in short form, without brackets. */
  readonly hosts: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/**
 * Checks that certificate and key are PEM, belong together, and can be served by TLS. Never throws.
 *
 * @returns the pair, or the fault as a clause that quotes neither certificate nor key
 */
export function validateCertificatePair(pair: CertificatePair): ValidCertificatePair | string {
  const certificate = parseOrNull(() => new X509Certificate(pair.certificatePem))
  if (!certificate) return 'the certificate is not a PEM certificate'
  const key = parseOrNull(() => createPrivateKey(pair.keyPem))
  if (!key) return 'the key is not a PEM private key without a passphrase'
  if (!certificate.checkPrivateKey(key)) return 'the private key does not match the certificate'
  // OpenSSL refuses more than the parsers, such as weak keys and a malformed chain.
  const options = { cert: pair.certificatePem, key: pair.keyPem }
  if (!parseOrNull(() => createSecureContext(options))) return 'TLS cannot be served with the pair'
  return {
    ...pair,
    commonName: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '',
    hosts: hostsOf(certificate),
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
  }
}

/** Whether the CA signed the certificate; both are PEM. false also for malformed PEM. */
export function isSignedBy(certificatePem: string, authorityPem: string): boolean {
  const certificate = parseOrNull(() => new X509Certificate(certificatePem))
  const authority = parseOrNull(() => new X509Certificate(authorityPem))
  return certificate !== null && authority !== null && isIssuedBy(certificate, authority)
}

/** Whether the CA signed the certificate itself. */
export const isIssuedBy = (certificate: X509Certificate, authority: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

function parseOrNull<T>(parse: () => T): T | null {
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

/** An IPv6 address in the short form of URLs; OpenSSL prints all eight groups. */
export const shortIPv6 = (address: string): string =>
  new URL(`http://[${address}]`).hostname.slice(1, -1)

// The serving certificate from files, which another program renews.

/** Paths of `--tls-cert-file` and `--tls-private-key-file`. */
export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

/** Options of followCertificateFiles. It reads the files until the signal aborts. */
interface FollowFilesOptions {
  readonly files: CertificateFiles
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with the first pair, and with each new one. */
  readonly take: (pair: ValidCertificatePair) => void
}

/**
 * Serves the pair in the files, and reloads it when the files change (contract 9.7). If the files are unreadable or
 * do not match, as between two renames, the last good pair stays in use and a warning is logged.
 *
 * @throws Error with the fault when the first pair can't be served
 */
export function followCertificateFiles(options: FollowFilesOptions): void {
  const { files, clock, log, signal, take } = options
  const paths = [files.certificateFile, files.keyFile]
  const first = readFiles(paths)
  const pair = pairIn(first)
  if (typeof pair === 'string')
    throw new Error(`--tls-cert-file and --tls-private-key-file: ${pair}`)
  take(pair)
  const changed = (read: FileTexts): void => {
    const next = pairIn(read)
    if (typeof next !== 'string') take(next)
    else
      log.warn(
        { because: next },
        'cannot load the certificate files, keeping the current certificate',
      )
  }
  void followFiles({ paths, first, clock, signal, changed })
}

function pairIn(read: FileTexts): ValidCertificatePair | string {
  if (!read.ok) return read.fault
  const [certificatePem = '', keyPem = ''] = read.texts
  return validateCertificatePair({ certificatePem, keyPem })
}
