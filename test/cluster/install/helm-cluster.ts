// An empty control plane with Helm, for the tests of the chart. Its controllers run; a test node runs the pods.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { type OwnControlPlane, ownedControlPlane } from '../../support/control-plane.ts'
import { awaitNewCluster, type Kubectl, mustKubectl } from '../../support/kubectl.ts'
import { objectsIn } from './installer.ts'

/** The chart of the platform. */
export const CHART = join(CHARTS, PLATFORM)

/** A control plane without the product, and the tools that install it. */
export interface HelmCluster {
  readonly plane: OwnControlPlane
  /** A folder that is removed in the end. */
  readonly folder: string
  readonly kubectl: Kubectl
  /** Runs Helm as an administrator; resolves with what it prints. Rejects with its message. */
  readonly helm: (...args: readonly string[]) => Promise<string>
  /** Writes a file into the folder and returns its path. */
  readonly file: (name: string, text: string) => string
  /** Variables with which a shell finds this cluster and both programs. */
  readonly env: Readonly<Record<string, string>>
  /** The path of Helm. */
  readonly program: string
}

/** Starts a control plane; it is stopped after the last test. Call it while the test file loads. */
export async function startHelmCluster(): Promise<HelmCluster> {
  const program = await ensureHelm(console.log)
  const started = startControlPlane({ audit: true, controllers: 'workloads', log: console.log })
  const plane = await ownedControlPlane(await started)
  const folder = mkdtempSync(join(tmpdir(), 'helm-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const kubectl: Kubectl = (...args) => mustKubectl(plane, args)
  await awaitNewCluster(kubectl)
  const env = {
    KUBECONFIG: plane.adminKubeconfig,
    HELM_CACHE_HOME: folder,
    HELM_CONFIG_HOME: folder,
    HELM_DATA_HOME: folder,
  }
  return {
    plane,
    folder,
    kubectl,
    helm: async (...args) => {
      const options = { env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
      return (await promisify(execFile)(program, args, options)).stdout
    },
    file: (name, text) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    env,
    program,
  }
}

/** Objects of the cluster by `resource namespace/name`, each with its resourceVersion. */
export type Versions = ReadonlyMap<string, string>

/** What controllers of Kubernetes, Helm and leader election write all the time, or what a rollout consists of. */
const MOVING = new Set([
  'Lease',
  'Node',
  'Pod',
  'PodMetrics',
  'ReplicaSet',
  'Deployment',
  'Endpoints',
  'EndpointSlice',
  'PodDisruptionBudget',
])

/** The versions of all objects of all kinds but those that move by themselves. */
export async function objectVersions(cluster: Pick<HelmCluster, 'kubectl'>): Promise<Versions> {
  const all = [...(await allVersions(cluster))]
  return new Map(all.filter(([name]) => !MOVING.has(name.split(' ')[0] ?? '')))
}

/** The versions of all objects of all kinds, of cluster and namespaces, but Events. */
export async function allVersions({ kubectl }: Pick<HelmCluster, 'kubectl'>): Promise<Versions> {
  const names = await kubectl('api-resources', '--verbs=list', '-o', 'name')
  const path =
    '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'
  const kinds = names.trim().split('\n').join(',')
  const rows = (await kubectl('get', kinds, '-A', '-o', `jsonpath=${path}`)).split('\n')
  return new Map(
    rows
      .map((row) => row.split(' '))
      .filter(([kind = '']) => kind !== '' && kind !== 'Event')
      .map(([kind = '', name = '', version = '']) => [`${kind} ${name}`, version]),
  )
}

/** The objects of a release, as in `objectVersions`. */
export async function objectsOfRelease(
  { helm }: HelmCluster,
  release: string,
  namespace: string,
): Promise<readonly string[]> {
  const text = await helm('get', 'manifest', release, `--namespace=${namespace}`)
  return objectsIn(text).map(
    ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
  )
}

/** The objects that differ: changed, new and gone ones. */
export const changedBetween = (before: Versions, after: Versions): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .toSorted()
