import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { createSecureContext } from 'node:tls'

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
