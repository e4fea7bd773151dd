// The serving certificate of the gateway, and of the direct endpoint: from files, or generated and shared by all
// replicas (contract 9.7).
import { SECRETS } from '../../api/names.ts'
import { type KubeClient, claim } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import {
  type CertificateFiles,
  type ValidCertificatePair,
  followCertificateFiles,
} from '../../serving/tls/key-pair.ts'
import {
  type ServingCertificate,
  maintainCertificate,
} from '../../serving/tls/serving-certificate.ts'

/** The parts of a process that startCertificate uses. */
interface CertificateProcess {
  readonly settings: {
    /** null = the certificate is in Secrets of the namespace. */
    readonly certificateFiles: CertificateFiles | null
    readonly namespace: string
  }
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: {
    /** Validity in epoch milliseconds. */
    readonly certificateShown: (notBeforeMs: number, notAfterMs: number) => void
  }
}

/** Options of startCertificate; all except `show` are for a generated certificate. */
interface CertificateOptions {
  readonly client: KubeClient
  readonly deps: ClientDeps
  /** The hosts that a generated certificate should have now. */
  readonly hosts: () => readonly string[]
  /** Calls the listener once the hosts are known, and whenever they may have changed. */
  readonly subscribeHosts: (listener: () => void) => void
  /** Field manager of this process; each replica has its own. */
  readonly manager: string
  readonly show: (pair: ValidCertificatePair) => void
}

/** State of the serving certificate. */
export interface Certificate {
  /** Resolves when the first certificate is in use. */
  readonly first: Promise<void>
  /** The fault of the certificate; null = none. */
  readonly fault: () => string | null
}

/**
 * Serves the certificate in the files, or a generated one that all replicas share, and each renewed certificate
 * (contract 9.7).
 *
 * @throws Error when files are given and can't be served
 */
export function startCertificate(
  self: CertificateProcess,
  options: CertificateOptions,
): Certificate {
  const { clock, log, lifecycle, metrics } = self
  const { certificateFiles: files } = self.settings
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const use = (pair: ValidCertificatePair): void => {
    const { commonName, hosts, notBeforeMs, notAfterMs } = pair
    const notAfter = new Date(notAfterMs).toISOString()
    log.info({ commonName, hosts, notAfter }, 'certificate in use')
    options.show(pair)
    metrics.certificateShown(notBeforeMs, notAfterMs)
    resolve()
  }
  if (files === null) return { first, fault: generateCertificate(self, options, use) }
  followCertificateFiles({ files, clock, log, signal: lifecycle.stopping, take: use })
  return { first, fault: () => null }
}

/**
 * Maintains a generated certificate. Begins once the hosts are known, so that the first certificate usually has the
 * right hosts.
 *
 * @param use called with each certificate to serve
 */
function generateCertificate(
  { settings, clock, log, lifecycle }: CertificateProcess,
  { client, deps, hosts, subscribeHosts, manager }: CertificateOptions,
  use: (pair: ValidCertificatePair) => void,
): Certificate['fault'] {
  const claimed = { manager, reason: 'create' }
  let certificate: ServingCertificate | null = null
  subscribeHosts(() => {
    certificate?.refresh()
    certificate ??= maintainCertificate({
      client,
      create: (secret) => claim(deps, SECRETS, secret, claimed),
      namespace: settings.namespace,
      hosts,
      take: use,
      clock,
      log,
      signal: lifecycle.stopping,
    })
  })
  return () => (certificate ? certificate.fault() : 'waiting for the settings to be listed')
}
