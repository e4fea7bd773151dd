// tools/install.ts, as the Makefile calls it.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Access } from '../../../tools/control-plane/access.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { eventually } from '../../support/eventually.ts'
import { type Coordinates, OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { CONFIG } from './kustomize-output.ts'

/** How a call ended, and what it printed. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** What a call may differ in. */
export interface Call {
  /** Where it finds kubectl; as the test has it when absent. */
  readonly path?: string
  /** Ends it by SIGTERM. */
  readonly signal?: AbortSignal
}

/** Calls the tool with these arguments; it never throws. */
export type Tool = (args: readonly string[], call?: Call) => Promise<Ended>

const TOOL = join(import.meta.dirname, '../../../tools/install.ts')
const { namespace } = OPERATOR_ACCOUNT

/** The manifest of the component for API servers without constrained impersonation. */
export const COMPONENT = join(CONFIG, 'components/legacy-impersonation/impersonation.yaml')

/** For `kubectl get`: what that component grants; nothing is printed where it is not there. */
export const LEGACY = [
  'clusterrole,clusterrolebinding',
  'management-operator-gateway-legacy-impersonation',
  '--ignore-not-found',
]

/** For `kubectl get`: what the tool makes for its probe; nothing is printed where it is not there. */
export const PROBE_OBJECTS = [
  'clusterrolebinding,serviceaccount',
  'impersonation-probe',
  `--namespace=${namespace}`,
  '--ignore-not-found',
]

/** The tool on that cluster. */
export async function toolFor({
  adminKubeconfig,
}: Pick<Coordinates, 'adminKubeconfig'>): Promise<Tool> {
  const { kubectl } = await ensureBinaries(console.log)
  const withKubectl = `${dirname(kubectl)}:${process.env['PATH']}`
  return (args, { path = withKubectl, signal } = {}) => {
    const env = { ...process.env, PATH: path, KUBECONFIG: adminKubeconfig }
    return new Promise((resolve) => {
      const child = execFile(process.execPath, [TOOL, ...args], { env }, (_, out, err) =>
        resolve({ code: child.exitCode ?? 128, out, err }),
      )
      signal?.addEventListener('abort', () => void child.kill('SIGTERM'))
    })
  }
}

/** What the controller and a kubelet would say, once the Deployment is there as it is wanted. */
export async function reportAvailable(
  { kubectl }: Pick<Access, 'kubectl'>,
  name: string,
): Promise<void> {
  const deployment = ['deployment', name, '-n', namespace]
  await eventually(
    `Deployment ${name} is there`,
    async () => (await kubectl(['get', ...deployment])).code === 0 || undefined,
    { withinMs: 90_000 },
  )
  const replicas = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
  const patch = JSON.stringify({ status: { observedGeneration: 1, ...replicas } })
  const scope = ['--subresource=status', '--type=merge', '-p', patch]
  const { code, stderr } = await kubectl(['patch', ...deployment, ...scope])
  if (code !== 0) throw new Error(`Deployment ${name}: ${stderr}`)
}
