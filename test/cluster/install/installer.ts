// The shipped manifests as kustomize builds them, and tools/install.ts, which the Makefile runs to install them.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Access } from '../../../tools/control-plane/access.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { eventually } from '../../support/eventually.ts'
import { type Coordinates, OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'

/** An object of a manifest. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** The folder of the kustomizations. */
export const CONFIG = join(import.meta.dirname, '../../../config')

/** Builds a kustomization of config/, such as `default`; returns YAML. @throws Error when kustomize fails */
export async function buildKustomization(
  { kubectl }: Pick<Access, 'kubectl'>,
  name: string,
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(['kustomize', join(CONFIG, name)])
  if (code !== 0) throw new Error(`config/${name}: ${stderr.trim()}`)
  return stdout
}

/** The objects of a YAML text. @throws Error for a text that other parsers refuse, such as one with a key twice */
export const objectsIn = (yaml: string): readonly Manifest[] =>
  parseAllDocuments(yaml).map((document) => {
    const [error] = document.errors
    if (error) throw error
    return document.toJS() as Manifest
  })

/** `Kind name`, which is unique in config/. */
export const titleOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`

/** Exit code and output of a run. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Options of a run. */
export interface Call {
  /** PATH; absent = that of the test, with kubectl. */
  readonly path?: string
  /** Sends SIGTERM when it is aborted. */
  readonly signal?: AbortSignal
}

/** Runs the tool with these arguments; never throws. */
export type Tool = (args: readonly string[], call?: Call) => Promise<Ended>

const TOOL = join(import.meta.dirname, '../../../tools/install.ts')
const { namespace } = OPERATOR_ACCOUNT

/** The manifest of the component for API servers without constrained impersonation. */
export const COMPONENT = join(CONFIG, 'components/legacy-impersonation/impersonation.yaml')

/** Arguments of `kubectl get` for the role and binding of that component. */
export const LEGACY = [
  'clusterrole,clusterrolebinding',
  'management-operator-gateway-legacy-impersonation',
  '--ignore-not-found',
]

/** Arguments of `kubectl get` for the objects of the tool's probe. */
export const PROBE_OBJECTS = [
  'clusterrolebinding,serviceaccount',
  'impersonation-probe',
  `--namespace=${namespace}`,
  '--ignore-not-found',
]

/** The tool for a cluster. */
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

/** Waits for the Deployment and writes the status of an available one, as its controller would. */
export async function reportAvailable(
  { kubectl }: Pick<Access, 'kubectl'>,
  name: string,
): Promise<void> {
  const deployment = ['deployment', name, '-n', namespace]
  await eventually(
    `Deployment ${name} exists`,
    async () => (await kubectl(['get', ...deployment])).code === 0 || undefined,
    { withinMs: 90_000 },
  )
  const replicas = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
  const patch = JSON.stringify({ status: { observedGeneration: 1, ...replicas } })
  const scope = ['--subresource=status', '--type=merge', '-p', patch]
  const { code, stderr } = await kubectl(['patch', ...deployment, ...scope])
  if (code !== 0) throw new Error(`Deployment ${name}: ${stderr}`)
}
