// The gateway's Secret as it was while one key was the authority's and the certificate's.
// oxlint-disable-next-line import/no-unassigned-import -- it must run before @peculiar/x509 loads
import '../../tools/control-plane/reflect-metadata.ts'
import { createPublicKey, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { newAuthority } from '../../src/serving/tls/issue.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const YEAR_MS = 365 * 86_400_000

/** The Secret's texts, PEM, with a certificate for these DNS names. */
export async function oneKeySecret(
  hosts: readonly string[],
  nowMs: number,
): Promise<Record<'tls.crt' | 'tls.key' | 'ca.crt', string>> {
  const commonName = 'management-operator gateway authority'
  const { certificatePem, keyPem } = newAuthority({
    commonName,
    nowMs,
    untilMs: nowMs + 10 * YEAR_MS,
  })
  const { subtle } = webcrypto
  const spki = createPublicKey(keyPem).export({ type: 'spki', format: 'der' })
  const pkcs8 = x509.PemConverter.decodeFirst(keyPem)
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '41',
    subject: 'CN=management-operator gateway',
    issuer: new x509.X509Certificate(certificatePem).subjectName,
    notBefore: new Date(nowMs),
    notAfter: new Date(nowMs + YEAR_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: await subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
    signingKey: await subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']),
    extensions: [
      new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value }))),
    ],
  })
  return {
    'tls.crt': `${certificate.toString('pem')}\n`,
    'tls.key': keyPem,
    'ca.crt': certificatePem,
  }
}
