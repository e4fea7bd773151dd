// The Secrets of the gateway's own serving certificate and of its CA, and the next step for them (contract 9.7).
//
// The CA key has a Secret of its own, so that the serving key can't issue certificates. An early version kept both in
// one Secret with one key: its CA moves to the Secret of the CA, and its certificate is replaced.
import { isIP } from 'node:net'
import { withoutBrackets } from '../../domain/ip-address.ts'
import { GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET } from '../../api/names.ts'
import { type Secret, secretData, secretText } from '../../api/objects.ts'
import {
  type CertificatePair,
  isSignedBy,
  type ValidCertificatePair,
  validateCertificatePair,
} from './key-pair.ts'

/** Subject of the certificates that the gateway issues; it never replaces one with another subject. */
export const OUR_COMMON_NAME = 'management-operator gateway'

/** Subject of the CA that signs those certificates. */
const AUTHORITY_COMMON_NAME = 'management-operator gateway authority'

const VALID_MS = 365 * 86_400_000
/** Clients are configured with the CA and do not learn of a new one, so it is replaced rarely. */
const AUTHORITY_VALID_MS = 10 * VALID_MS

/** Content of the Secret with the serving certificate. */
interface ServingCertificateData {
  readonly pair: ValidCertificatePair
  /** PEM of the CA that clients are given; empty = none. */
  readonly authorityPem: string
}

/** Content of both Secrets; null = the Secret does not exist, a string = the fault of its content, as a clause. */
interface CertificateSecrets {
  readonly authority: ValidCertificatePair | string | null
  readonly server: ServingCertificateData | string | null
}

/** The next step. After `establish` and `issue` both Secrets are read again. */
type CertificateStep =
  | { readonly kind: 'serve'; readonly pair: ValidCertificatePair }
  /** Store this CA in its Secret; null = a new CA. */
  | { readonly kind: 'establish'; readonly authority: CertificatePair | null }
  /** Store a new certificate for these hosts, signed by the CA. */
  | {
      readonly kind: 'issue'
      readonly hosts: readonly string[]
      readonly authority: ValidCertificatePair
    }
  | { readonly kind: 'unusable'; readonly secret: string; readonly because: string }

/**
 * The next step for both Secrets. A missing host is added to the certificate and removed only at the next
 * renewal, so that replicas with different hosts don't overwrite each other. A certificate with a subject of an
 * administrator is served as it is, and unusable content is never overwritten.
 */
export function certificateStep(
  { authority, server }: CertificateSecrets,
  wanted: readonly string[],
  nowMs: number,
): CertificateStep {
  if (typeof server === 'string') return unusable(GATEWAY_TLS_SECRET, server)
  if (server && server.pair.commonName !== OUR_COMMON_NAME)
    return { kind: 'serve', pair: server.pair }
  if (typeof authority === 'string') return unusable(GATEWAY_CA_SECRET, authority)
  if (authority === null) return { kind: 'establish', authority: server && legacyAuthority(server) }
  if (needsRenewal(authority, nowMs)) return { kind: 'establish', authority: null }
  if (server === null || needsRenewal(server.pair, nowMs) || !isIssuedBy(server, authority))
    return { kind: 'issue', hosts: wanted, authority }
  const missing = missingHosts(server.pair, wanted)
  if (missing.length === 0) return { kind: 'serve', pair: server.pair }
  return { kind: 'issue', hosts: [...server.pair.hosts, ...missing], authority }
}

const unusable = (secret: string, because: string): CertificateStep => ({
  kind: 'unusable',
  secret,
  because,
})

/** Whether the certificate must be renewed: a third of its lifetime or less is left. */
const needsRenewal = ({ notBeforeMs, notAfterMs }: ValidCertificatePair, nowMs: number): boolean =>
  notAfterMs - nowMs <= (notAfterMs - notBeforeMs) / 3

/** Whether the CA signed the certificate, is the one given to clients, and has another key. */
const isIssuedBy = (
  { pair, authorityPem }: ServingCertificateData,
  authority: ValidCertificatePair,
): boolean =>
  authorityPem === authority.certificatePem &&
  pair.keyPem !== authority.keyPem &&
  isSignedBy(pair.certificatePem, authority.certificatePem)

/** The CA of an early version, which shares the certificate's key; null = there is none. Clients trust that CA. */
function legacyAuthority({ pair, authorityPem }: ServingCertificateData): CertificatePair | null {
  const authority = checkedAuthority({ certificatePem: authorityPem, keyPem: pair.keyPem })
  return typeof authority === 'string' ? null : authority
}

/** The wanted hosts that the certificate lacks. */
export const missingHosts = (
  { hosts }: ValidCertificatePair,
  wanted: readonly string[],
): readonly string[] => wanted.filter((host) => !hosts.includes(host))

/** The CA in its Secret, or the fault of its content as a clause. */
export const parseAuthoritySecret = (secret: Secret): ValidCertificatePair | string =>
  checkedAuthority(pairIn(secret))

function checkedAuthority(pair: CertificatePair): ValidCertificatePair | string {
  const checked = validateCertificatePair(pair)
  if (typeof checked === 'string' || checked.commonName === AUTHORITY_COMMON_NAME) return checked
  return 'the certificate is not one of our authorities'
}

/** The serving certificate in its Secret, or the fault of its content as a clause. */
export function parseServingSecret(secret: Secret): ServingCertificateData | string {
  const pair = validateCertificatePair(pairIn(secret))
  return typeof pair === 'string' ? pair : { pair, authorityPem: textIn(secret, 'ca.crt') }
}

const pairIn = (secret: Secret): CertificatePair => ({
  certificatePem: textIn(secret, 'tls.crt'),
  keyPem: textIn(secret, 'tls.key'),
})

const textIn = (secret: Secret, key: string): string => secretText(secret, key) ?? ''

/** The Secret to store for this CA; null = for a new CA. Without the fields that the API server sets. */
export async function authoritySecret(
  namespace: string,
  authority: CertificatePair | null,
  nowMs: number,
) {
  const { certificatePem, keyPem } = authority ?? (await newAuthority(nowMs))
  return secretOf(namespace, GATEWAY_CA_SECRET, { 'tls.crt': certificatePem, 'tls.key': keyPem })
}

// Loaded only to issue a certificate: most gateways find one at start, and never need the library.
const loadIssuer = () => import('./issue.ts')

async function newAuthority(nowMs: number): Promise<CertificatePair> {
  const untilMs = nowMs + AUTHORITY_VALID_MS
  return (await loadIssuer()).createAuthority({ commonName: AUTHORITY_COMMON_NAME, nowMs, untilMs })
}

/** The Secret to store for a new certificate and its CA. Without the fields that the API server sets. */
export async function serverSecret(
  namespace: string,
  { hosts, authority }: Omit<Extract<CertificateStep, { kind: 'issue' }>, 'kind'>,
  nowMs: number,
) {
  const untilMs = Math.min(nowMs + VALID_MS, authority.notAfterMs)
  const subject = { commonName: OUR_COMMON_NAME, nowMs, untilMs }
  const use = { hosts, purposes: ['server'] } as const
  const { issueCertificate } = await loadIssuer()
  const { certificatePem, keyPem } = issueCertificate(subject, use, authority)
  return secretOf(namespace, GATEWAY_TLS_SECRET, {
    'tls.crt': certificatePem,
    'tls.key': keyPem,
    'ca.crt': authority.certificatePem,
  })
}

const secretOf = (namespace: string, name: string, texts: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type: 'kubernetes.io/tls',
  data: secretData(texts),
})

/** A host name without wildcard, and without characters that OpenSSL prints in quotes. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/

/**
 * The hosts of a generated certificate: the URLs' hosts, localhost, and the Service in its namespace (contract 9.7).
 *
 * @param urls URLs by which clients may come; null = not known yet
 * @param service name of the Service in front of this process
 */
export function hostsOf(
  urls: readonly (string | null)[],
  service: string,
  namespace: string,
): readonly string[] {
  const named = urls.flatMap((url) => (url === null ? [] : hostOf(url)))
  const usable = named.filter((host) => isIP(host) !== 0 || HOST_NAME.test(host))
  const always = ['localhost', '127.0.0.1', '::1', service, `${service}.${namespace}.svc`]
  return [...new Set([...usable, ...always])]
}

const hostOf = (url: string): string => withoutBrackets(new URL(url).hostname)
