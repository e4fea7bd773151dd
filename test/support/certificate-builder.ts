import { type KeyObject, X509Certificate, sign } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  Certificate,
  Extension,
  Extensions,
  GeneralName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  Validity,
  id_ce_extKeyUsage,
  id_ce_subjectAltName,
} from '@peculiar/asn1-x509'
import { createAuthority, issueCertificate } from '../../src/serving/tls/issue.ts'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'

/** A server's certificate and key, with the authority for its clients. */
export interface ServerPair extends CertificatePair {
  readonly caPem: string
}

/** Options of a server's certificate. */
export interface ServerPairParts {
  readonly hosts?: readonly string[]
  /** Epoch milliseconds. */
  readonly nowMs?: number
  readonly validMs?: number
}

/** A certificate with this name under its own authority: for localhost, valid for an hour from now. */
export function serverPair(commonName: string, parts: ServerPairParts = {}): ServerPair {
  const { hosts = ['localhost', '127.0.0.1'], nowMs = Date.now(), validMs = 3_600_000 } = parts
  const times = { nowMs, untilMs: nowMs + validMs }
  const authority = createAuthority({ ...times, commonName: 'an authority' })
  const use = { hosts, purposes: ['server'] } as const
  const pair = issueCertificate({ ...times, commonName }, use, authority)
  return { ...pair, caPem: authority.certificatePem }
}

/** The pair with a certificate without extendedKeyUsage: it may be used for anything. */
export function withoutPurpose(pair: CertificatePair, authority: CertificatePair): CertificatePair {
  const certificate = decoded(pair.certificatePem)
  const { tbsCertificate } = certificate
  const kept = tbsCertificate.extensions?.filter(({ extnID }) => extnID !== id_ce_extKeyUsage)
  tbsCertificate.extensions = new Extensions(kept)
  return { ...pair, certificatePem: signedPem(certificate, authority.keyPem) }
}

/** The authority's certificate with another key, PEM. Whoever verifies what that key signs does not ask who issued it. */
export function certificateOfKey(authority: CertificatePair, publicKey: KeyObject): string {
  const certificate = decoded(authority.certificatePem)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  certificate.tbsCertificate.subjectPublicKeyInfo = AsnConvert.parse(spki, SubjectPublicKeyInfo)
  return signedPem(certificate, authority.keyPem)
}

/** Signs a certificate that was changed, by a key on P-256. */
function signedPem(certificate: Certificate, keyPem: string): string {
  const body = Buffer.from(AsnConvert.serialize(certificate.tbsCertificate))
  certificate.signatureValue = new Uint8Array(sign('sha256', body, keyPem)).buffer
  return new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString()
}

// The gateway's Secret in its former format, in which authority and certificate share one key.

const YEAR_MS = 365 * 86_400_000

/** The Secret's texts, PEM, with a certificate for these DNS names. */
export function oneKeySecret(
  hosts: readonly string[],
  nowMs: number,
): Record<'tls.crt' | 'tls.key' | 'ca.crt', string> {
  const commonName = 'management-operator gateway authority'
  const untilMs = nowMs + 10 * YEAR_MS
  const { certificatePem, keyPem } = createAuthority({ commonName, nowMs, untilMs })
  const named = createAuthority({ commonName: 'management-operator gateway', nowMs, untilMs })
  const names = new SubjectAlternativeName(hosts.map((dNSName) => new GeneralName({ dNSName })))
  const extnValue = new OctetString(AsnConvert.serialize(names))

  const certificate = decoded(certificatePem)
  const { tbsCertificate } = certificate
  tbsCertificate.serialNumber = Uint8Array.of(0x41).buffer
  tbsCertificate.subject = decoded(named.certificatePem).tbsCertificate.subject
  tbsCertificate.validity = new Validity({
    notBefore: new Date(nowMs),
    notAfter: new Date(nowMs + YEAR_MS),
  })
  tbsCertificate.extensions = new Extensions([
    new Extension({ extnID: id_ce_subjectAltName, extnValue }),
  ])
  return {
    'tls.crt': signedPem(certificate, keyPem),
    'tls.key': keyPem,
    'ca.crt': certificatePem,
  }
}

const decoded = (certificatePem: string): Certificate =>
  AsnConvert.parse(new X509Certificate(certificatePem).raw, Certificate)
