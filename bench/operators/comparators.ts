// The operators that `make bench` compares, each on the same API server, one at a time.
import { join } from 'node:path'
import { ISSUER, type OwnOperator, startOperator } from '../../test/support/command-process.ts'
import type { Audit } from '../../test/support/audit-log.ts'
import { OPERATOR_USER } from '../../test/support/installed-control-plane.ts'
import type { Raw } from '../../test/support/raw-client.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import { type Running, startPeer } from '../measure/peer-process.ts'
import type { PeerName } from '../peers.ts'

/**
 * The operators: the product; one on controller-runtime; one on client-node's own informer and client; and the floor of
 * all, which writes straight from the event.
 */
export const OPERATORS = ['product', 'controller-runtime', 'client-node', 'echo'] as const

/** One of them. */
export type OperatorName = (typeof OPERATORS)[number]

/** The control plane and the accounts on which all operators are measured. */
export interface Testbed {
  readonly plane: ControlPlane
  readonly peers: Readonly<Record<PeerName, string>>
  /** Kubeconfig of the product's own account. */
  readonly operatorKubeconfig: string
  /** Kubeconfig of the others' account. */
  readonly peerKubeconfig: string
  readonly raw: Raw
  readonly audit: Audit
}

/** The ServiceAccount of all comparators but the product (bench/peers/rights.yaml). */
export const PEER_ACCOUNT = { namespace: 'platform-system', name: 'bench-peer' } as const

const PEER_USER = `system:serviceaccount:${PEER_ACCOUNT.namespace}:${PEER_ACCOUNT.name}`

/** The user of an operator in the audit log. */
export const userOf = (name: OperatorName): string =>
  name === 'product' ? OPERATOR_USER : PEER_USER

const CLIENT_NODE = join(import.meta.dirname, '../peers/client-node.ts')

/** Starts the product's operator, with leader election as an installation has it. Resolves when it is ready. */
export const startManager = ({ operatorKubeconfig: kubeconfig }: Testbed): Promise<OwnOperator> =>
  startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`, '--leader-elect'] })

/** Starts an operator. Resolves when it has listed all objects, and leads. */
export async function startNamed(name: OperatorName, bed: Testbed): Promise<Running> {
  const { peers, peerKubeconfig } = bed
  if (name === 'product') {
    const product = await startManager(bed)
    const stop = async (): Promise<void> => void (await product.stop())
    return { pid: product.pid, stop, [Symbol.asyncDispose]: stop }
  }
  if (name === 'client-node') return startPeer(process.execPath, [CLIENT_NODE, peerKubeconfig])
  const args = [`--kubeconfig=${peerKubeconfig}`]
  return startPeer(
    peers[name],
    name === 'echo' ? args : [...args, `--namespace=${PEER_ACCOUNT.namespace}`],
  )
}
