// Certificates of clients, signed by a CA that the administrator names (contract 9.6). Connections without one go on:
// only some paths ask for it.
import { X509Certificate, constants } from 'node:crypto'
import type { Server } from 'node:https'
import type { TLSSocket, TlsOptions } from 'node:tls'
import { type CertificatePair, isIssuedBy } from './key-pair.ts'

/** The CA certificates that may sign certificates of clients; empty = no certificate is accepted. */
export type ClientAuthority = readonly X509Certificate[]

/** A certificate that the client has proved to hold, for use by clients, signed by one of the CA certificates. */
export interface ClientCertificate {
  /** The end of the certificate or its CA, in epoch milliseconds: a connection may outlive both. */
  readonly notAfterMs: number
}

/** Options of a server that asks each client for a certificate, and refuses no connection. */
export const ASK_FOR_CERTIFICATES: TlsOptions = { requestCert: true, rejectUnauthorized: false }

/** The certificate that a server shows, and the client certificates that it accepts. */
export interface SecureContext {
  /** Uses this certificate for new connections; open connections keep theirs. */
  readonly show: (pair: CertificatePair) => void
  /**
   * Accepts client certificates of this authority, on open connections as well, and no others; none before the first
   * call. @throws Error when the server does not ask for certificates
   */
  readonly trust: (authority: ClientAuthority) => void
  /** The certificate of a connection's client, judged by the authority that is trusted now; null = none is accepted. */
  readonly certificateOf: (socket: TLSSocket) => ClientCertificate | null
}

/** The context of a server. @param asks whether the server was created with ASK_FOR_CERTIFICATES */
export function secureContext(server: Server, asks: boolean): SecureContext {
  let authority: ClientAuthority = []
  let shown: CertificatePair | null = null
  const refresh = (): void => {
    if (shown === null) return
    const pair = { cert: shown.certificatePem, key: shown.keyPem }
    server.setSecureContext(asks ? { ...pair, ca: authority.map(String), secureOptions } : pair)
  }
  return {
    show: (pair) => {
      shown = pair
      refresh()
    },
    trust: (trusted) => {
      if (!asks) throw new Error('the server does not ask clients for certificates')
      authority = trusted
      refresh()
    },
    certificateOf: (socket) => (authority.length === 0 ? null : judged(socket, authority)),
  }
}

/** No session is resumed: it would keep the verdict of a former authority. */
const secureOptions = constants.SSL_OP_NO_TICKET

const END = '-----END CERTIFICATE-----'

/** Parses the file of a client CA: one or more certificates in PEM. @returns the fault as a clause when it is malformed */
export function parseClientAuthority(pem: string): ClientAuthority | string {
  const texts = pem.split(END)
  const rest = texts.pop() ?? ''
  if (texts.length === 0) return 'it has no PEM certificate'
  if (rest.includes('-----BEGIN')) return 'its last certificate is cut off'
  const parsed = texts.map((text) => parseCertificate(text + END))
  const certificates = parsed.filter((one) => one !== null)
  if (certificates.length < parsed.length) return 'one of its certificates is malformed'
  if (!certificates.every(({ ca }) => ca)) return 'one of its certificates is not a CA'
  // OpenSSL verifies up to a root: without one, every client would be refused.
  const hasRoot = certificates.some((one) => one.checkIssued(one))
  return hasRoot ? certificates : 'it has no root, a CA that signed itself'
}

function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}

/** extendedKeyUsage clientAuth. */
const CLIENT_PURPOSE = '1.3.6.1.5.5.7.3.2'

/** The last result for each connection, so that a signature is verified once and not for each request. */
const results = new WeakMap<TLSSocket, Result>()

/** The certificate of a connection as judged by one authority. */
interface Result {
  readonly authority: ClientAuthority
  readonly certificate: ClientCertificate | null
}

function judged(socket: TLSSocket, authority: ClientAuthority): ClientCertificate | null {
  const known = results.get(socket)
  if (known?.authority === authority) return known.certificate
  const certificate = verified(socket, authority)
  results.set(socket, { authority, certificate })
  return certificate
}

/**
 * The certificate, if the authority itself signed it: an intermediate must be part of the authority. OpenSSL verified the
 * chain at the handshake, perhaps by a former authority; without any Node would have trusted the public ones.
 */
function verified(socket: TLSSocket, authority: ClientAuthority): ClientCertificate | null {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  if (!certificate?.keyUsage?.includes(CLIENT_PURPOSE)) return null
  const issuer = authority.find((one) => isIssuedBy(certificate, one))
  if (!issuer) return null
  const ends = [certificate, issuer].map(({ validToDate }) => validToDate.getTime())
  return { notAfterMs: Math.min(...ends) }
}
