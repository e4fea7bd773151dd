import { issueFor, newAuthority } from '../../src/serving/tls/issue.ts'
import type { CertificatePair } from '../../src/serving/tls/key-pair.ts'

/** A server's pair with the authority that a client of it is given. */
export interface ServerPair extends CertificatePair {
  readonly caPem: string
}

/** What a pair may differ in. */
export interface ServerPairParts {
  readonly hosts?: readonly string[]
  /** Epoch milliseconds. */
  readonly nowMs?: number
  readonly validMs?: number
}

/** A pair of this name under an authority of its own: for this machine, valid for an hour from now. */
export function serverPair(commonName: string, parts: ServerPairParts = {}): ServerPair {
  const { hosts = ['localhost', '127.0.0.1'], nowMs = Date.now(), validMs = 3_600_000 } = parts
  const times = { nowMs, untilMs: nowMs + validMs }
  const authority = newAuthority({ ...times, commonName: 'an authority' })
  const signer = { commonName: 'an authority', keyPem: authority.keyPem }
  return { ...issueFor({ ...times, commonName }, hosts, signer), caPem: authority.certificatePem }
}
