// The gateway: settings -> client -> stores -> certificate -> servers -> ordered shutdown. It only puts the parts
// together. A gateway has no state of its own, and replicas need no leader.
import { randomUUID } from 'node:crypto'
import type { StartedAuthenticator } from '../../authn/setup.ts'
import { issuerOfHost } from '../../domain/token/token-claims.ts'
import { createKeysPage, createRevokedPage, discoveryAnswer } from '../../gateway/oidc/documents.ts'
import type { PUBLIC_ROUTES } from '../../gateway/stages/public-routes.ts'
import { GATEWAY_CA_CONFIG_MAP } from '../../api/names.ts'
import { createClient } from '../../kube/client/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { type PublicPage, healthPage, publicPageOf } from '../../serving/http/pages.ts'
import { createHttpServer } from '../../serving/http/server.ts'
import { hostsOf } from '../../serving/tls/secret.ts'
import { authorityPublisher } from '../shared/authority.ts'
import { type Certificate, startCertificate } from '../shared/certificate.ts'
import { clientDeps, startConnection } from '../shared/cluster-client.ts'
import { type Readiness, commonChecks, livenessPage, serveProbes } from '../shared/probes.ts'
import { processInputs, runProcess } from '../shared/process.ts'
import { connectionObserver } from '../shared/traffic-observers.ts'
import { readGatewaySettings } from './flags.ts'
import { type GatewayInformers, startGatewayInformers } from './informers.ts'
import { type GatewayProcess, createMetrics } from './metrics.ts'
import { startApi } from './wiring.ts'

/**
 * `management-operator gateway` (contract 9.1, 9.7).
 *
 * @returns the exit code, after all parts have stopped
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runProcess(readGatewaySettings(argv, processInputs), { createMetrics, start })

const SERVER_STOPS_WITHIN_MS = 20_000

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: GatewayProcess): Promise<void> {
  const { settings, clock, log, lifecycle, metrics } = self
  log.info({ version: PROGRAM_VERSION }, 'starting')
  const connection = await startConnection(self, settings.kubeconfig)
  // Every replica may write: there is no leader, and each write carries a precondition.
  const deps = clientDeps(self, connection, () => undefined)
  const following = startGatewayInformers(self, deps)
  const server = createHttpServer(connectionObserver(self), {
    trustedProxies: settings.trustedProxies,
  })
  const client = createClient(deps)
  const publishAuthority = authorityPublisher(self, client, deps, {
    namespace: settings.namespace,
    name: GATEWAY_CA_CONFIG_MAP,
  })
  const certificate = startCertificate(self, {
    client,
    deps,
    hosts: () => certificateHosts(following, settings.namespace),
    subscribeHosts: following.inForce.subscribe,
    manager: `gateway-${randomUUID()}`,
    show: (pair) => {
      server.show(pair)
      if (settings.certificateFiles === null) publishAuthority()
    },
  })
  const api = startApi(self, deps, following)
  metrics.followWatchAges({ keys: api.ageMs, published: following.completeness.ageMs })
  const readiness = readinessOf(lifecycle.stopping, following, api, certificate)
  await serveProbes(self, readiness)
  await certificate.first
  const handler = api.handler(publicPages(following, readiness, clock))
  const port = await server.listen(settings.bindAddress, handler)
  lifecycle.onStop('gateway server', SERVER_STOPS_WITHIN_MS, () => {
    api.endStreams()
    return server.close()
  })
  log.info({ port }, 'serving the gateway')
}

/** The hosts of a generated certificate: the issuer's, the platform's, and the Service's (contract 9.7). */
function certificateHosts(
  { inForce, issuer }: GatewayInformers,
  namespace: string,
): readonly string[] {
  const host = inForce.platformHost()
  return hostsOf([issuer.current(), host && issuerOfHost(host)], 'gateway', namespace)
}

/** The readiness checks of the gateway (contract 8.2). */
function readinessOf(
  stopping: AbortSignal,
  following: GatewayInformers,
  callers: Pick<StartedAuthenticator, 'readiness'>,
  certificate: Certificate,
): Readiness {
  return {
    ...commonChecks(stopping, following, following.stores),
    'settings-seen': () =>
      following.inForce.isKnown() ? null : 'no settings in force have been seen',
    'keys-known': () =>
      following.jwks.current() === null ? 'no public signing keys have been seen' : null,
    ...callers.readiness,
    certificate: certificate.fault,
  }
}

/** The pages that need no credential. */
function publicPages(
  following: GatewayInformers,
  readiness: Readiness,
  clock: Clock,
): Readonly<Record<(typeof PUBLIC_ROUTES)[number], PublicPage>> {
  const { issuer, jwks, stores, completeness, inForce } = following
  const { configMaps } = stores
  return {
    '/healthz': publicPageOf(livenessPage),
    '/readyz': publicPageOf(healthPage('readyz', readiness)),
    '/oidc/.well-known/openid-configuration': () =>
      discoveryAnswer(issuer.current(), inForce.projectNamespacePrefix()),
    '/oidc/keys': createKeysPage(jwks),
    '/oidc/revoked': createRevokedPage({ configMaps, asOfMs: completeness.asOfMs, clock }),
  }
}
