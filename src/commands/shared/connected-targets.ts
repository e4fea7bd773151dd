// Puts together the part of the gateway and the direct endpoint that follows targets, by their Secrets (contract 9.5).
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns'
import { SECRETS, TARGET_LABEL } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { type AddressRanges, addressFault, parseIpAddress } from '../../domain/ip-address.ts'
import {
  type ConnectedTargetsOptions,
  type StartedTargets,
  startConnectedTargets,
} from '../../gateway/targets/follow.ts'
import type { TargetSecretReader } from '../../gateway/targets/secrets.ts'
import { createClient, type KubeClient } from '../../kube/client/client.ts'
import { connect } from '../../kube/client/connection.ts'
import { listMetadata } from '../../kube/client/namespace-content.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import { createUpstream } from '../../kube/proxy/upstream.ts'
import { type AddressGuard, createAddressGuard } from '../../runtime/address-guard.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import { startEventRecorder } from './cluster-client.ts'

const STOP_WITHIN_MS = 2000

/** The parts of a process that startTargets uses. */
interface TargetProcess {
  readonly settings: {
    readonly targetNamespace: string
    readonly targetAddresses: AddressRanges
  }
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly metrics: {
    readonly followTargets: (read: StartedTargets['readiness']) => void
  }
}

/**
 * Starts to follow the targets, with their Events and their metric.
 *
 * @param instance the reporter of the Events, such as `gateway`
 */
export function startTargets(
  self: TargetProcess,
  deps: ClientDeps,
  instance: string,
  { ownCluster, extras }: Pick<ConnectedTargetsOptions, 'ownCluster' | 'extras'>,
): StartedTargets {
  const { clock, log, lifecycle, metrics } = self
  const { targetNamespace: namespace, targetAddresses } = self.settings
  const client = createClient(deps)
  const guard = guardFor(targetAddresses)
  const targets = startConnectedTargets({
    namespace,
    reader: readerOf(deps, client, namespace),
    events: startEventRecorder(self, client, `${instance}-${randomUUID()}`),
    open: (kubeconfig) => openUpstream(kubeconfig, guard, clock),
    ownCluster,
    extras,
    userAgent: deps.userAgent,
    clock,
    log,
    signal: lifecycle.stopping,
  })
  metrics.followTargets(targets.readiness)
  lifecycle.onStop('targets', STOP_WITHIN_MS, targets.close)
  return targets
}

const readerOf = (deps: ClientDeps, client: KubeClient, namespace: string): TargetSecretReader => ({
  list: (signal) => listMetadata(deps, SECRETS, { namespace, labelSelector: TARGET_LABEL }, signal),
  get: (name, signal) => client.get<Secret>(SECRETS, { name, namespace }, signal),
})

/** The system resolves names again for each connection. */
const guardFor = (ranges: AddressRanges): AddressGuard =>
  createAddressGuard((text) => {
    const address = parseIpAddress(text)
    return address === null ? 'is malformed, or has a zone' : addressFault(address, ranges)
  }, lookup)

/** An upstream that also closes its connections. No metric counts the responses of targets. */
async function openUpstream(
  kubeconfig: string,
  guard: AddressGuard,
  clock: Clock,
): Promise<Upstream> {
  const connection = await connect({ kind: 'value', text: kubeconfig }, clock, guard)
  const observer = { responded: () => undefined }
  const upstream = createUpstream({ connection, clock, observer })
  return {
    ...upstream,
    close: async () => {
      await upstream.close()
      await connection.close()
    },
  }
}
