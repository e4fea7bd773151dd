// Managers that compete for the Lease, each behind its own proxy.
import { CONTROLLER_NAME, LEASES } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { Lease, LeaseSpec } from '../../src/kube/leader-election/rules.ts'
import { type Operator, type OwnOperator, startOperator } from '../support/command-process.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { type FaultProxy, type Match, isWrite, startProxy } from '../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'

/** The one Lease of all managers. */
export const LEASE = { namespace: OPERATOR_ACCOUNT.namespace, name: CONTROLLER_NAME }

const electing = (leaseSeconds: number, renewSeconds: number): readonly string[] => [
  '--leader-elect',
  `--leader-elect-lease-duration=${leaseSeconds}s`,
  `--leader-elect-renew-deadline=${renewSeconds}s`,
  '--leader-elect-retry-period=500ms',
]

/** Flags for a lease that expires within a test, but survives a process that a busy machine stops for seconds. */
export const SHORT_LEASE = electing(9, 7)

/** Flags for a lease that does not expire within a test: only a release hands it over. */
export const LONG_LEASE = electing(60, 40)

/** The expiry of SHORT_LEASE, plus some time for a busy machine. */
const SOON = { withinMs: 30_000 }

/** A manager and the proxy of all its requests. */
export interface Manager extends AsyncDisposable {
  readonly operator: OwnOperator
  readonly proxy: FaultProxy
}

/** Starts a manager; resolves when a leader leads, or when a standby serves its probes. */
export async function startManager(
  plane: TestControlPlane,
  kubeconfig: string,
  flags: readonly string[],
  role: 'leader' | 'standby',
): Promise<Manager> {
  const proxy = await startProxy(plane)
  const operator = await startOperator({
    kubeconfig: await proxy.kubeconfig(kubeconfig),
    flags,
    until: role === 'leader' ? 'ready' : 'serving',
  })
  if (role === 'leader') await untilItLeads(operator)
  return {
    operator,
    proxy,
    [Symbol.asyncDispose]: async () => {
      await operator.stop()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

/** Waits until the manager logs that it leads. */
export async function untilItLeads(manager: Operator): Promise<void> {
  const hasAcquired = (): true | undefined =>
    manager.logs().some(({ msg }) => msg.startsWith('acquired the lease')) || undefined
  await eventually('the manager leads', hasAcquired, SOON)
}

/** The spec of the Lease. @throws Error when there is none */
export async function readLease({
  admin,
}: Pick<TestControlPlane, 'admin'>): Promise<Required<LeaseSpec>> {
  const lease = await admin.get<Lease>(LEASES, LEASE)
  if (!lease?.spec) throw new Error('there is no Lease')
  return lease.spec as Required<LeaseSpec>
}

/** Writes to Leases. */
export const isLeaseWrite: Match = (request) =>
  isWrite(request) && request.path.startsWith(pathOf(LEASES, { namespace: LEASE.namespace }))

/** Takes the Lease, so that all managers stand by. */
export async function holdLease(plane: TestControlPlane): Promise<void> {
  await freeLease(plane)
  const holder = { holderIdentity: 'a-test', leaseDurationSeconds: 3600 }
  const object = { apiVersion: 'coordination.k8s.io/v1', kind: LEASES.kind, metadata: LEASE }
  await plane.admin.create(LEASES, { ...object, spec: holder }, 'test')
}

/** Deletes the Lease, so that a manager may lead at once. */
export async function freeLease({ raw }: Pick<TestControlPlane, 'raw'>): Promise<void> {
  const { code } = await raw('DELETE', pathOf(LEASES, LEASE))
  if (code !== 200 && code !== 404) throw new Error(`the Lease answered ${code}`)
}
