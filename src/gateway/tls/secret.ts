// The Secret that holds the gateway's own certificate, and what to do about it (contract 9.7).
import type { Secret } from '../../api/core.ts'
import { GATEWAY_TLS_SECRET } from '../../api/group.ts'
import { issueFor, newAuthority } from '../../runtime/authority.ts'
import { type CheckedPair, checkPair } from '../../runtime/certificate.ts'

/** Subject of the certificates that we make. One with another subject is somebody's own. */
export const OUR_COMMON_NAME = 'management-operator gateway'

/** Subject of the authority that signs them. */
const AUTHORITY_COMMON_NAME = 'management-operator gateway authority'

const DAY_MS = 86_400_000
const VALID_MS = 365 * DAY_MS
/** Clients are given the authority, and nobody tells them of the next one: it is a rare event. */
const AUTHORITY_VALID_MS = 10 * VALID_MS
const RENEW_BEFORE_MS = 30 * DAY_MS

/** The Secret's data in PEM: the pair, and the certificate of the authority that clients are given. */
export interface TlsData {
  readonly pair: CheckedPair
  /** null = there is none, or it did not sign with this key. */
  readonly authority: CheckedPair | null
}

/** What to do: show what is there, or put a new certificate for these hosts there. */
export type CertificateStep =
  | { readonly kind: 'serve'; readonly pair: CheckedPair }
  | {
      readonly kind: 'issue'
      readonly hosts: readonly string[]
      /** The authority that goes on; null = a new one. */
      readonly authority: CheckedPair | null
    }
  | { readonly kind: 'unusable'; readonly because: string }

/**
 * Decides on what was found. Replicas with other hosts in mind agree: a host is added to those that are
 * there, and goes only at the next renewal. A certificate that is not ours is served as it is, and what
 * can't be served is left alone: somebody put it there.
 *
 * @param found null = there is no Secret; a clause on what is wrong with it; or what it holds
 */
export function certificateStep(
  found: TlsData | string | null,
  wanted: readonly string[],
  nowMs: number,
): CertificateStep {
  if (found === null) return { kind: 'issue', hosts: wanted, authority: null }
  if (typeof found === 'string') return { kind: 'unusable', because: found }
  const { pair } = found
  if (pair.commonName !== OUR_COMMON_NAME) return { kind: 'serve', pair }
  const lasts = (found.authority?.notAfterMs ?? 0) - nowMs >= VALID_MS
  const authority = lasts ? found.authority : null
  if (pair.notAfterMs - nowMs < RENEW_BEFORE_MS) return { kind: 'issue', hosts: wanted, authority }
  const missing = missingHosts(pair, wanted)
  if (missing.length === 0) return { kind: 'serve', pair }
  return { kind: 'issue', hosts: [...pair.hosts, ...missing], authority }
}

/** The hosts that the certificate is not good for. */
export const missingHosts = (
  { hosts }: CheckedPair,
  wanted: readonly string[],
): readonly string[] => wanted.filter((host) => !hosts.includes(host))

/** What a Secret holds, or what is wrong with it. */
export function dataIn({ data }: Secret): TlsData | string {
  const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')
  const keyPem = text('tls.key')
  const pair = checkPair({ certificatePem: text('tls.crt'), keyPem })
  if (typeof pair === 'string') return pair
  const authority = checkPair({ certificatePem: text('ca.crt'), keyPem })
  const isOurs = typeof authority !== 'string' && authority.commonName === AUTHORITY_COMMON_NAME
  return { pair, authority: isOurs ? authority : null }
}

/** The Secret with a new certificate in it, without what the API server adds. */
export function issuedSecret(
  namespace: string,
  { hosts, authority }: Extract<CertificateStep, { kind: 'issue' }>,
  nowMs: number,
) {
  const subject = (commonName: string, validMs: number) => ({
    commonName,
    nowMs,
    untilMs: nowMs + validMs,
  })
  const { certificatePem, keyPem } =
    authority ?? newAuthority(subject(AUTHORITY_COMMON_NAME, AUTHORITY_VALID_MS))
  const signer = { commonName: AUTHORITY_COMMON_NAME, keyPem }
  const issued = issueFor(subject(OUR_COMMON_NAME, VALID_MS), hosts, signer)
  const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: GATEWAY_TLS_SECRET, namespace },
    type: 'kubernetes.io/tls',
    data: {
      'tls.crt': base64(issued.certificatePem),
      'tls.key': base64(keyPem),
      'ca.crt': base64(certificatePem),
    },
  }
}
