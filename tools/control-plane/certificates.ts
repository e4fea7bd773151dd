// Certificates of a control plane: of its servers, which nothing renews, and of any client.
import { generateKeyPairSync } from 'node:crypto'
import {
  type CertificateSubject,
  createAuthority as createAuthorityOf,
  issueCertificate,
} from '../../src/serving/tls/issue.ts'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'

/** The identity in a client certificate: Kubernetes reads the user from CN and the groups from O. */
export interface ClientSubject {
  readonly user: string
  readonly groups: readonly string[]
}

/** Ten years: a kept data folder keeps its certificates, and nothing renews them. */
const VALID_MS = 3_650 * 86_400_000

/** A new certificate authority. */
export const createAuthority = (commonName: string): CertificatePair =>
  createAuthorityOf(subjectOf(commonName))

/**
 * A certificate for a server that is reached under each of these host names and IP addresses. It
 * serves as a client certificate too, because an etcd member uses one certificate for both.
 */
export const issueServing = (
  authority: CertificatePair,
  hosts: readonly string[],
): CertificatePair =>
  issueCertificate(
    subjectOf(hosts[0] ?? 'server'),
    { hosts, purposes: ['server', 'client'] },
    authority,
  )

/** A client certificate for any user in any groups. */
export const issueClient = (
  authority: CertificatePair,
  { user, groups }: ClientSubject,
): CertificatePair =>
  issueCertificate(subjectOf(user, groups), { hosts: [], purposes: ['client'] }, authority)

/** A key pair to sign and to verify ServiceAccount tokens with, both PEM. */
export function createTokenKeys(): { readonly privatePem: string; readonly publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

function subjectOf(commonName: string, organizations: readonly string[] = []): CertificateSubject {
  const nowMs = Date.now()
  return { commonName, organizations, nowMs, untilMs: nowMs + VALID_MS }
}
