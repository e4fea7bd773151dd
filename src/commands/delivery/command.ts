// The delivery process: settings -> client -> stores -> probes -> leader election -> controller -> ordered shutdown. It only
// puts the parts together.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { lookup } from 'node:dns'
import { setFlagsFromString } from 'node:v8'
import { DELIVERY_FIELD_MANAGER, DELIVERY_LEASE } from '../../api/names.ts'
import { PUSH_FIELD_MANAGER } from '../../api/secret-store-names.ts'
import { ClaimMemory } from '../../delivery/claims/claim-memory.ts'
import { KeySlots } from '../../delivery/claims/key-slots.ts'
import { countClaims } from '../../delivery/claims/metrics.ts'
import { claimController } from '../../delivery/claims/setup.ts'
import { type FollowedGateway, followGateway } from '../../delivery/gateway.ts'
import { deleteOrphans } from '../../delivery/orphans.ts'
import { serveStore } from '../../delivery/store/serve.ts'
import { type FollowedStoreSettings, followStoreSettings } from '../../delivery/store/settings.ts'
import { createClient } from '../../kube/client/client.ts'
import type { Connection } from '../../kube/client/connection.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { runController } from '../../kube/controller/builder.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { PROGRAM_VERSION } from '../../runtime/flags.ts'
import { type FollowedCaps, followCaps, knownCaps } from '../../settings/caps.ts'
import { clientDeps, startConnection, startEventRecorder } from '../shared/cluster-client.ts'
import { joinElection } from '../shared/leadership.ts'
import { commonChecks, serveProbes } from '../shared/probes.ts'
import { processInputs, runProcess } from '../shared/process.ts'
import { readDeliverySettings } from './flags.ts'
import { type DeliveryStores, createStores, startInformers } from './informers.ts'
import { type DeliveryProcess, createDeliveryMetrics } from './metrics.ts'

/**
 * `management-operator delivery` (contract 28.3).
 *
 * @returns the exit code, after all parts have stopped
 */
export function run(argv: readonly string[]): Promise<number> {
  // A sixth less memory with 5,000 claims, for no more CPU time: this process mostly waits (docs/sizing.md).
  setFlagsFromString('--optimize-for-size')
  return runProcess(readDeliverySettings(argv, processInputs), {
    createMetrics: createDeliveryMetrics,
    start,
  })
}

const CONTROLLER_STOPS_WITHIN_MS = 20_000

/** Starts all parts; they stop in reverse order (lifecycle.onStop). */
async function start(self: DeliveryProcess): Promise<void> {
  const { settings, clock, log, lifecycle } = self
  const { namespace, configName, kubeconfig, leaderElection } = settings
  const identity = `${hostname()}_${randomUUID()}`
  log.info({ version: PROGRAM_VERSION, identity }, 'starting')
  const connection = await startConnection(self, kubeconfig)
  const lease = { namespace, name: DELIVERY_LEASE }
  const leadership = await joinElection(self, { kubeconfig, leaderElection, lease, identity })
  const deps: ClientDeps = {
    ...clientDeps(self, connection, leadership.mayWrite),
    // The API server names the field manager of a create by the user agent.
    userAgent: `${DELIVERY_FIELD_MANAGER}/${PROGRAM_VERSION}`,
    fieldManager: DELIVERY_FIELD_MANAGER,
  }
  const stores = createStores()
  const { unserved, stuck } = startInformers(self, createClient(deps), stores)
  const sources = { ...stores, configName, namespace }
  const caps = followCaps({ ...sources, log })
  const gateway = followGateway({
    settings: sources,
    url: settings.gatewayUrl,
    caFile: settings.gatewayCaFile,
    authorities: stores.authorities,
    clock,
    signal: lifecycle.stopping,
  })
  const store = followStoreSettings({
    secrets: stores.secrets,
    namespace,
    environmentAddress: process.env['VAULT_ADDR'] ?? '',
    caFile: settings.secretStoreCaFile,
    clock,
    log,
    signal: lifecycle.stopping,
  })
  await serveProbes(self, {
    ...commonChecks(lifecycle.stopping, { unserved, stuck }, { ...stores }),
    'settings-seen': () => (caps.current() ? null : 'no settings in force have been seen'),
  })
  await leadership.acquired
  lead(self, { connection, deps, stores, caps, gateway, store, identity })
}

/** What the replica that leads works with. */
interface LeadingParts {
  readonly connection: Connection
  readonly deps: ClientDeps
  readonly stores: DeliveryStores
  readonly caps: FollowedCaps
  readonly gateway: FollowedGateway
  readonly store: FollowedStoreSettings
  readonly identity: string
}

/** Starts the work of the replica that leads. */
function lead(self: DeliveryProcess, parts: LeadingParts): void {
  const { settings, clock, log, lifecycle, metrics } = self
  const { connection, deps, stores, caps, gateway, identity } = parts
  const client = createClient(deps)
  const signal = lifecycle.stopping
  const { namespace, signInNamespace, maxClaimsPerNamespace } = settings
  metrics.followClaims(() => countClaims(stores.claims.values(), clock.nowMs()))
  const events = startEventRecorder(self, client, identity)
  const controller = claimController({
    client,
    clientDeps: deps,
    stores,
    memory: new ClaimMemory(),
    slots: new KeySlots(settings.claimKeysPerSecond),
    gateway,
    caps: () => knownCaps(caps),
    followedCaps: caps,
    places: { namespace, signInNamespace, maxClaimsPerNamespace },
    events,
    observer: metrics.claims,
    workers: settings.workers,
    clock,
    log,
    signal,
  })
  const eventLoop = new EventLoopShare(clock)
  const outage = connection.breaker
  // The authority is read before the first Secret is rendered.
  const reads = [...controller.reads, stores.authorities]
  const stop = runController({ ...controller, reads }, { clock, eventLoop, outage, log, metrics })
  lifecycle.onStop('controller', CONTROLLER_STOPS_WITHIN_MS, stop)
  stores.claims.whenSynced(() =>
    stores.keys.whenSynced(() => void deleteOrphans({ client, stores, clock, log, signal })),
  )
  const store = {
    client,
    pushClient: createClient({ ...deps, fieldManager: PUSH_FIELD_MANAGER }),
    clientDeps: deps,
    places: { namespace, signInNamespace, maxClaimsPerNamespace },
    settings: parts.store,
    namespace,
    mount: settings.secretStoreMount,
    resolve: lookup,
    random: Math.random,
    metrics: metrics.store,
    events,
    clock,
    log,
    signal,
  }
  // Before its settings are read a store that is switched on would be reported as switched off.
  stores.secrets.whenSynced(() => void serveStore(store))
}
