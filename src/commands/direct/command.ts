// The direct endpoint of a connected cluster: client -> issuer -> certificate -> servers -> ordered shutdown. It only
// puts the parts together. It needs no leader, and while the platform is unreachable it goes on with the last keys and
// revocations.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type StartedTokenAuthenticator, startTokenAuthenticator } from '../../authn/token/setup.ts'
import type { DIRECT_PUBLIC_ROUTES } from '../../gateway/stages/public-routes.ts'
import { createClient } from '../../kube/client/client.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { type PublicPage, healthPage, publicPageOf } from '../../serving/http/pages.ts'
import { createHttpServer } from '../../serving/http/server.ts'
import { hostsOf } from '../../serving/tls/secret.ts'
import { startCertificate } from '../shared/certificate.ts'
import { clientDeps, startConnection } from '../shared/cluster-client.ts'
import { type Readiness, livenessPage, serveProbes, stoppingCheck } from '../shared/probes.ts'
import { processInputs, runProcess } from '../shared/process.ts'
import { connectionObserver } from '../shared/traffic-observers.ts'
import { startDirectAudit } from './audit.ts'
import { type DirectSettings, readDirectSettings } from './flags.ts'
import { type DirectProcess, createDirectMetrics } from './metrics.ts'
import { startDirectApi } from './wiring.ts'

/**
 * `management-operator direct` (contract 9.2, 9.7).
 *
 * @returns the exit code, after all parts have stopped
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runProcess(readDirectSettings(argv, processInputs), { createMetrics: createDirectMetrics, start })

const STOP_WITHIN_MS = { endpoint: 20_000, state: 5000 }

/** Name of its Service, as in config/direct. */
const SERVICE = 'direct'

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: DirectProcess): Promise<void> {
  const { settings, log, lifecycle, metrics } = self
  log.info({ version: PROGRAM_VERSION, cluster: settings.cluster }, 'starting')
  const tokens = await followTokens(self)
  metrics.followIssuer(tokens.gauges)
  // The last revocation has taken effect, and may not be on the disk yet.
  lifecycle.onStop('state', STOP_WITHIN_MS.state, tokens.stateSettled)
  const connection = await startConnection(self, settings.kubeconfig)
  // Every replica may write: there is no leader, and each write carries a precondition.
  const deps = clientDeps(self, connection, () => undefined)
  const server = createHttpServer(connectionObserver(self), {
    trustedProxies: settings.trustedProxies,
    asksForCertificates: settings.webhookClientCaFile !== null,
  })
  const certificate = startCertificate(self, {
    client: createClient(deps),
    deps,
    hosts: () => hostsOf([], SERVICE, settings.namespace),
    subscribeHosts: (listener) => listener(),
    manager: `${SERVICE}-${randomUUID()}`,
    show: server.show,
  })
  const audit = await startDirectAudit(self)
  const api = startDirectApi(self, { deps, tokens, trust: server.trust, audit })
  const readiness = {
    ...stoppingCheck(lifecycle.stopping),
    ...tokens.readiness,
    ...api.readiness,
    certificate: certificate.fault,
  }
  await serveProbes(self, readiness)
  await certificate.first
  const handler = api.handler(publicPages(readiness))
  const port = await server.listen(settings.bindAddress, handler)
  lifecycle.onStop('endpoint server', STOP_WITHIN_MS.endpoint, () => {
    api.endStreams()
    return server.close()
  })
  log.info({ port }, 'serving the direct endpoint')
}

/** The authenticator of tokens, which follows the issuer. @throws Error when the file with the issuer's CA is unreadable */
function followTokens(self: DirectProcess): Promise<StartedTokenAuthenticator> {
  const { settings, clock, log, lifecycle, metrics } = self
  return startTokenAuthenticator({
    issuer: settings.issuerUrl,
    cluster: settings.cluster,
    ca: issuerCa(settings),
    stateDir: settings.stateDir,
    instance: hostname(),
    maxStalenessMs: settings.maxStalenessMs,
    pollIntervalMs: settings.revocationPollIntervalMs,
    clock,
    log,
    observer: metrics,
    signal: lifecycle.stopping,
  })
}

function issuerCa({ issuerCaFile }: DirectSettings): string | null {
  if (issuerCaFile === null) return null
  const pem = processInputs.file(issuerCaFile)
  if (pem === null) throw new Error(`the file of --issuer-ca-file cannot be read: ${issuerCaFile}`)
  return pem
}

/** The pages that need no credential. */
const publicPages = (
  readiness: Readiness,
): Readonly<Record<(typeof DIRECT_PUBLIC_ROUTES)[number], PublicPage>> => ({
  '/healthz': publicPageOf(livenessPage),
  '/readyz': publicPageOf(healthPage('readyz', readiness)),
})
