import { SECRETS } from '../../api/names.ts'
import { issuerOfHost } from '../../domain/token/token-claims.ts'
import { type KubeClient, claim } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { type ValidCertificatePair, followCertificateFiles } from '../../serving/tls/key-pair.ts'
import { hostsOf } from '../../serving/tls/secret.ts'
import {
  type ServingCertificate,
  maintainCertificate,
} from '../../serving/tls/serving-certificate.ts'
import type { GatewayInformers } from './informers.ts'
import type { GatewayProcess } from './metrics.ts'

/** Options of startCertificate. */
interface CertificateOptions extends GatewayProcess {
  readonly client: KubeClient
  readonly deps: ClientDeps
  readonly following: GatewayInformers
  /** Field manager of this process; each replica has its own. */
  readonly manager: string
  readonly show: (pair: ValidCertificatePair) => void
}

/** State of the serving certificate. */
export interface Certificate {
  /** Resolves when the first certificate is in use. */
  readonly first: Promise<void>
  /** What is wrong with the certificate; null = nothing. */
  readonly fault: () => string | null
}

/**
 * Serves the certificate in the files, or a generated one that all replicas share, and each renewed certificate
 * (contract 9.7).
 *
 * @throws Error when files are given and can't be served
 */
export function startCertificate(options: CertificateOptions): Certificate {
  const { settings, clock, log, lifecycle, metrics, show } = options
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const take = (pair: ValidCertificatePair): void => {
    const { commonName, hosts, notBeforeMs, notAfterMs } = pair
    const notAfter = new Date(notAfterMs).toISOString()
    log.info({ commonName, hosts, notAfter }, 'certificate in use')
    show(pair)
    metrics.certificateShown(notBeforeMs, notAfterMs)
    resolve()
  }
  const shared = { clock, log, signal: lifecycle.stopping, take }
  if (settings.certificateFiles !== null) {
    followCertificateFiles({ ...shared, files: settings.certificateFiles })
    return { first, fault: () => null }
  }
  const fault = maintainOwnCertificate(options, shared)
  return { first, fault }
}

type Shared = Pick<Parameters<typeof maintainCertificate>[0], 'clock' | 'log' | 'signal' | 'take'>

/** Begins once settings are listed, so that the first certificate usually has the right hosts. */
function maintainOwnCertificate(options: CertificateOptions, shared: Shared): Certificate['fault'] {
  const { settings, client, deps, following, manager } = options
  const { namespace } = settings
  const hosts = (): readonly string[] => {
    const host = following.platformHost()
    return hostsOf([following.issuer.current(), host && issuerOfHost(host)], namespace)
  }
  const create = { manager, reason: 'create' }
  let certificate: ServingCertificate | null = null
  following.subscribe(() => {
    certificate?.refresh()
    certificate ??= maintainCertificate({
      ...shared,
      client,
      create: (secret) => claim(deps, SECRETS, secret, create),
      namespace,
      hosts,
    })
  })
  return () => (certificate ? certificate.fault() : 'waiting for the settings to be listed')
}
