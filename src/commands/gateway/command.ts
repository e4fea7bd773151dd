// The gateway: settings -> client -> stores -> certificate -> servers -> ordered shutdown. It only puts the parts
// together. A gateway has no state of its own, and replicas need no leader.
import { randomUUID } from 'node:crypto'
import type { StartedAuthenticator } from '../../authn/setup.ts'
import { issuerOfHost } from '../../domain/token/token-claims.ts'
import { GATEWAY_STAGES, createHandler } from '../../gateway/handler.ts'
import { createKeysPage, createRevokedPage, discoveryAnswer } from '../../gateway/oidc/documents.ts'
import {
  type PUBLIC_ROUTES,
  type PublicPage,
  versionPage,
} from '../../gateway/stages/public-routes.ts'
import { createClient } from '../../kube/client/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { type HealthCheck, healthPage } from '../../serving/http/pages.ts'
import { createHttpServer } from '../../serving/http/server.ts'
import { hostsOf } from '../../serving/tls/secret.ts'
import { type Certificate, startCertificate } from '../shared/certificate.ts'
import {
  clientDeps,
  commonChecks,
  connectCluster,
  livenessPage,
  processInputs,
  publicPageOf,
  serveProbes,
} from '../shared/process.ts'
import { readGatewaySettings } from './flags.ts'
import { type GatewayInformers, startGatewayInformers } from './informers.ts'
import { type GatewayProcess, createMetrics } from './metrics.ts'
import { startApi } from './wiring.ts'
import { connectionObserver } from '../shared/traffic-observers.ts'
import { runServing } from '../shared/serving.ts'

/**
 * `management-operator gateway` (contract 9.1, 9.7).
 *
 * @returns the exit code, after all parts have stopped
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runServing(readGatewaySettings(argv, processInputs), { createMetrics, start })

const STOP_WITHIN_MS = { gateway: 20_000, connection: 2000 }

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: GatewayProcess): Promise<void> {
  const { settings, clock, log, lifecycle, metrics } = self
  log.info({ version: PROGRAM_VERSION }, 'starting')
  const connection = await connectCluster(settings.kubeconfig, clock)
  lifecycle.onStop('connection', STOP_WITHIN_MS.connection, () => connection.close())
  connection.breaker.report(log)
  // Every replica may write: there is no leader, and each write carries a precondition.
  const deps = clientDeps(self, connection, () => undefined)
  const client = createClient(deps)
  const following = startGatewayInformers(self, deps)

  const server = createHttpServer(connectionObserver(self))
  const certificate = startCertificate({
    ...self,
    client,
    deps,
    hosts: () => {
      const host = following.platformHost()
      const urls = [following.issuer.current(), host && issuerOfHost(host)]
      return hostsOf(urls, 'gateway', settings.namespace)
    },
    subscribeHosts: following.subscribe,
    manager: `gateway-${randomUUID()}`,
    show: server.show,
  })
  const api = startApi(self, deps, following)
  metrics.followWatchAges({ keys: api.ageMs, published: following.ageMs })
  const readiness = readinessOf(lifecycle.stopping, following, api, certificate)
  const respond = createHandler(GATEWAY_STAGES, {
    pages: publicPages(following, readiness, clock),
    version: versionPage(PROGRAM_VERSION),
    ...api,
    answered: metrics.answered,
    clock,
    log,
  })
  await serveProbes({ ...self, ...settings, readiness })
  await certificate.first
  const port = await server.listen(settings.bindAddress, respond)
  lifecycle.onStop('gateway server', STOP_WITHIN_MS.gateway, () => {
    api.endStreams()
    return server.close()
  })
  log.info({ port }, 'serving the gateway')
}

/** The readiness checks of the gateway (contract 8.2). */
function readinessOf(
  stopping: AbortSignal,
  following: GatewayInformers,
  callers: Pick<StartedAuthenticator, 'readiness'>,
  certificate: Certificate,
): Readonly<Record<string, HealthCheck>> {
  return {
    ...commonChecks(stopping, following, following.stores),
    'settings-seen': () =>
      following.settingsSeen() ? null : 'no settings in force have been seen',
    'keys-known': () =>
      following.jwks.current() === null ? 'no public signing keys have been seen' : null,
    ...callers.readiness,
    certificate: certificate.fault,
  }
}

/** The pages that need no credential. */
function publicPages(
  following: GatewayInformers,
  readiness: Readonly<Record<string, HealthCheck>>,
  clock: Clock,
): Readonly<Record<(typeof PUBLIC_ROUTES)[number], PublicPage>> {
  const { issuer, jwks, stores, configMapsAsOfMs, projectNamespacePrefix } = following
  return {
    '/healthz': publicPageOf(livenessPage),
    '/readyz': publicPageOf(healthPage('readyz', readiness)),
    '/oidc/.well-known/openid-configuration': () =>
      discoveryAnswer(issuer.current(), projectNamespacePrefix()),
    '/oidc/keys': createKeysPage(jwks),
    '/oidc/revoked': createRevokedPage({ ...stores, asOfMs: configMapsAsOfMs, clock }),
  }
}
