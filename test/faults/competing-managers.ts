// Managers that compete for the Lease, each behind a proxy of its own that tells their requests apart.
import { CONTROLLER_NAME, LEASES } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { Lease, LeaseSpec } from '../../src/kube/leader-election/rules.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { type Match, isWrite } from '../support/fault-proxy-rules.ts'
import { type FaultProxy, startProxy } from '../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import type { Operator } from '../support/process-output.ts'

/** The one Lease of all managers. */
export const LEASE = { namespace: OPERATOR_ACCOUNT.namespace, name: CONTROLLER_NAME }

const electing = (leaseSeconds: number, renewSeconds: number): readonly string[] => [
  '--leader-elect',
  `--leader-elect-lease-duration=${leaseSeconds}s`,
  `--leader-elect-renew-deadline=${renewSeconds}s`,
  '--leader-elect-retry-period=500ms',
]

/** Flags for a lease that runs out within a test, but not where a busy machine stops a process for seconds. */
export const BRIEFLY = electing(9, 7)

/** Flags for a lease so long that within a test only who frees it hands it over. */
export const PATIENTLY = electing(60, 40)

/** A lease of BRIEFLY, which the next one waits for, and something for a busy machine. */
const SOON = { withinMs: 30_000 }

/** A manager and the proxy that all its requests go through. */
export interface Manager extends AsyncDisposable {
  readonly operator: OwnOperator
  readonly line: FaultProxy
}

/** Starts a manager; waits until it leads, or where it is to stand by only until it answers. */
export async function startManager(
  plane: TestControlPlane,
  kubeconfig: string,
  flags: readonly string[],
  role: 'leader' | 'standby',
): Promise<Manager> {
  const line = await startProxy(plane)
  const operator = await startOperator({
    kubeconfig: await line.kubeconfig(kubeconfig),
    flags,
    until: role === 'leader' ? 'ready' : 'serving',
  })
  if (role === 'leader') await untilItLeads(operator)
  return {
    operator,
    line,
    [Symbol.asyncDispose]: async () => {
      await operator.stop()
      await line[Symbol.asyncDispose]()
    },
  }
}

/** Waits until the manager says that it leads. */
export async function untilItLeads(manager: Operator): Promise<void> {
  const hasSaidSo = (): true | undefined =>
    manager.logs().some(({ msg }) => msg.startsWith('acquired the lease')) || undefined
  await eventually('the manager leads', hasSaidSo, SOON)
}

/** What the Lease says now. @throws Error when there is none */
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

/** Takes the Lease, so that managers stand by. */
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
