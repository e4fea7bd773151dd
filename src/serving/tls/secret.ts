// The Secrets of the gateway's own certificate and of its authority, and the next step for them (contract 9.7).
//
// There are two, so that the key that gateways serve with can't issue certificates. An early version had one Secret
// and one key for both: such an authority moves to its own Secret, and its certificate is replaced.
import { isIP } from 'node:net'
import { GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { type CertificatePair, type CheckedPair, checkPair, isSignedBy } from './key-pair.ts'

/** Subject of the certificates that the gateway issues; it never replaces one with another subject. */
export const OUR_COMMON_NAME = 'management-operator gateway'

/** Subject of the authority that signs them. */
const AUTHORITY_COMMON_NAME = 'management-operator gateway authority'

const VALID_MS = 365 * 86_400_000
/** Clients hold the authority and get no notice of the next one, so that it is replaced rarely. */
const AUTHORITY_VALID_MS = 10 * VALID_MS

/** Content of the Secret of the certificate, PEM. */
export interface ServerData {
  readonly pair: CheckedPair
  /** The authority that clients are given; empty where there is none. */
  readonly authorityPem: string
}

/** Content of both Secrets; null = there is no such Secret, a text = the fault of its content, in a clause. */
export interface FoundSecrets {
  readonly authority: CheckedPair | string | null
  readonly server: ServerData | string | null
}

/** The next step: serve the pair, or store something and read both Secrets again. */
type CertificateStep =
  | { readonly kind: 'serve'; readonly pair: CheckedPair }
  /** Store an authority: this one, or a new one (null). */
  | { readonly kind: 'establish'; readonly authority: CertificatePair | null }
  /** Store a certificate for these hosts, signed by the authority. */
  | { readonly kind: 'issue'; readonly hosts: readonly string[]; readonly authority: CheckedPair }
  | { readonly kind: 'unusable'; readonly secret: string; readonly because: string }

/**
 * Decides on the content of both Secrets. Replicas that want other hosts agree: a host is added to those of the
 * certificate, and goes only at the next renewal. A certificate with another subject is served as it is, and
 * content that can't be used is left alone: an administrator put it there.
 */
export function certificateStep(
  { authority, server }: FoundSecrets,
  wanted: readonly string[],
  nowMs: number,
): CertificateStep {
  if (typeof server === 'string') return unusable(GATEWAY_TLS_SECRET, server)
  if (server && server.pair.commonName !== OUR_COMMON_NAME)
    return { kind: 'serve', pair: server.pair }
  if (typeof authority === 'string') return unusable(GATEWAY_CA_SECRET, authority)
  if (authority === null) return { kind: 'establish', authority: server && sharedAuthority(server) }
  if (isDue(authority, nowMs)) return { kind: 'establish', authority: null }
  if (server === null || isDue(server.pair, nowMs) || !isUnder(server, authority))
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

/** Whether no more than a third of its life is left. */
const isDue = ({ notBeforeMs, notAfterMs }: CheckedPair, nowMs: number): boolean =>
  notAfterMs - nowMs <= (notAfterMs - notBeforeMs) / 3

/** Whether clients of the authority trust the certificate, and it has a key of its own. */
const isUnder = ({ pair, authorityPem }: ServerData, authority: CheckedPair): boolean =>
  authorityPem === authority.certificatePem &&
  pair.keyPem !== authority.keyPem &&
  isSignedBy(pair.certificatePem, authority.certificatePem)

/** The authority of a certificate that has the authority's own key: clients hold it. */
function sharedAuthority({ pair, authorityPem }: ServerData): CertificatePair | null {
  const authority = checkedAuthority({ certificatePem: authorityPem, keyPem: pair.keyPem })
  return typeof authority === 'string' ? null : authority
}

/** The hosts that the certificate is not good for. */
export const missingHosts = (
  { hosts }: CheckedPair,
  wanted: readonly string[],
): readonly string[] => wanted.filter((host) => !hosts.includes(host))

/** The authority in its Secret, or the fault of its content. */
export const authorityIn = (secret: Secret): CheckedPair | string =>
  checkedAuthority(pairIn(secret))

function checkedAuthority(pair: CertificatePair): CheckedPair | string {
  const checked = checkPair(pair)
  if (typeof checked === 'string' || checked.commonName === AUTHORITY_COMMON_NAME) return checked
  return 'the certificate is not one of our authorities'
}

/** The content of the Secret of the certificate, or its fault. */
export function serverIn(secret: Secret): ServerData | string {
  const pair = checkPair(pairIn(secret))
  return typeof pair === 'string' ? pair : { pair, authorityPem: textIn(secret, 'ca.crt') }
}

const pairIn = (secret: Secret): CertificatePair => ({
  certificatePem: textIn(secret, 'tls.crt'),
  keyPem: textIn(secret, 'tls.key'),
})

const textIn = ({ data }: Secret, key: string): string =>
  Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')

/** The Secret with that authority, or a new one (null), without the fields that the API server adds. */
export async function authoritySecret(
  namespace: string,
  authority: CertificatePair | null,
  nowMs: number,
) {
  const { certificatePem, keyPem } = authority ?? (await newAuthority(nowMs))
  return secretOf(namespace, GATEWAY_CA_SECRET, { 'tls.crt': certificatePem, 'tls.key': keyPem })
}

// Loaded where a certificate is issued: most starts of a gateway find one and need no library for it.
const writer = () => import('./issue.ts')

async function newAuthority(nowMs: number): Promise<CertificatePair> {
  const untilMs = nowMs + AUTHORITY_VALID_MS
  return (await writer()).createAuthority({ commonName: AUTHORITY_COMMON_NAME, nowMs, untilMs })
}

/** The Secret with a new certificate and its authority, without the fields that the API server adds. */
export async function serverSecret(
  namespace: string,
  { hosts, authority }: Omit<Extract<CertificateStep, { kind: 'issue' }>, 'kind'>,
  nowMs: number,
) {
  const untilMs = Math.min(nowMs + VALID_MS, authority.notAfterMs)
  const subject = { commonName: OUR_COMMON_NAME, nowMs, untilMs }
  const use = { hosts, purposes: ['server'] } as const
  const { issueCertificate } = await writer()
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
  data: Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  ),
})

/** A host name that certificates hold as it is: no wildcard, and no character that OpenSSL prints in quotes. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/

/**
 * The hosts of the gateway's own certificate: those of the issuer and of the platform, this machine, and the
 * Service `gateway` (contract 9.7).
 *
 * @param urls of the issuer and of the platform; null = not known yet
 */
export function hostsOf(urls: readonly (string | null)[], namespace: string): readonly string[] {
  const named = urls.flatMap((url) => (url === null ? [] : hostOf(url)))
  const usable = named.filter((host) => isIP(host) !== 0 || HOST_NAME.test(host))
  const always = ['localhost', '127.0.0.1', '::1', 'gateway', `gateway.${namespace}.svc`]
  return [...new Set([...usable, ...always])]
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')
