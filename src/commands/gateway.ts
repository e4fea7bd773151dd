// The gateway: settings -> client -> stores -> certificate -> servers -> ordered shutdown. Composition only.
// It keeps no state, and replicas need no leader.
import { randomUUID } from 'node:crypto'
import { createHandler } from '../gateway/handler.ts'
import { versionPage } from '../gateway/stages/public-routes.ts'
import { createClient } from '../kube/client/client.ts'
import { systemClock } from '../runtime/clock.ts'
import { startLifecycle } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/log.ts'
import { PROGRAM_VERSION } from '../runtime/version.ts'
import { createHttpServer } from '../serving/http/server.ts'
import { printText, clientDeps, connectCluster, processInputs } from './cluster-command.ts'
import { startCertificate } from './gateway/certificate.ts'
import { readGatewaySettings } from './gateway/flags.ts'
import { startFollowing } from './gateway/informers.ts'
import { type GatewayProcess, createMetrics } from './gateway/metrics.ts'
import { connectionObserver } from './gateway/observers.ts'
import { publicPages, readinessOf } from './gateway/public-pages.ts'
import { startApi } from './gateway/wiring.ts'
import { serveProbes } from './probes.ts'

/**
 * `management-operator gateway` (contract 9.1, 9.7).
 *
 * @returns the exit code, once everything is stopped
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readGatewaySettings(argv, processInputs)
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const clock = systemClock()
  const log = createLogger(settings.logLevel)
  const lifecycle = startLifecycle(process, clock, log)
  // Not awaited: the start waits for a certificate, and a signal may come before it has one.
  start({ settings, clock, log, lifecycle, metrics: createMetrics() }).catch((err: unknown) => {
    log.error({ err }, 'could not start')
    lifecycle.stop('start failed', 1)
  })
  return lifecycle.finished
}

const STOP_WITHIN_MS = { gateway: 20_000, connection: 2000 }

/** Parts stop in reverse order of their start; see lifecycle.onStop. */
async function start(self: GatewayProcess): Promise<void> {
  const { settings, clock, log, lifecycle, metrics } = self
  log.info({ version: PROGRAM_VERSION }, 'starting')
  const connection = await connectCluster(settings.kubeconfig, clock)
  lifecycle.onStop('connection', STOP_WITHIN_MS.connection, () => connection.close())
  connection.breaker.report(log)
  // Replicas write at the same time: every write carries a condition.
  const deps = clientDeps(self, connection, () => undefined)
  const client = createClient(deps)
  const following = startFollowing(self, client)

  const server = createHttpServer(connectionObserver(self))
  const certificate = startCertificate({
    ...self,
    client,
    deps,
    following,
    manager: `gateway-${randomUUID()}`,
    show: server.show,
  })
  const api = startApi(self, deps, following)
  metrics.followWatchAges({ keys: api.ageMs, published: following.ageMs })
  const readiness = readinessOf(lifecycle.stopping, following, api, certificate)
  const respond = createHandler({
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
