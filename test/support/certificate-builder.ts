import { createAuthority, issueCertificate } from '../../src/serving/tls/issue.ts'
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
  const authority = createAuthority({ ...times, commonName: 'an authority' })
  const use = { hosts, purposes: ['server'] } as const
  const pair = issueCertificate({ ...times, commonName }, use, authority)
  return { ...pair, caPem: authority.certificatePem }
}
