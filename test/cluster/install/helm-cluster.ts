// An empty control plane, with Helm for the tests of the chart. Its controllers run; a test node runs the pods.
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
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'
import { objectsIn } from './installer.ts'

/** The chart of the platform. */
export const CHART = join(CHARTS, PLATFORM)

/** A control plane without the product. */
export interface EmptyCluster {
  readonly plane: OwnControlPlane
  /** A folder that is removed in the end. */
  readonly folder: string
  readonly kubectl: Kubectl
  /** Writes a file into the folder and returns its path. */
  readonly file: (name: string, text: string) => string
  /** Variables with which a program finds this cluster, and Helm its files. */
  readonly env: Readonly<Record<string, string>>
}

/** The same with Helm. */
export interface HelmCluster extends EmptyCluster {
  /** The path of Helm; empty = there is none, and the tests of the file are skipped. */
  readonly program: string
  /** Runs Helm as an administrator; resolves with what it prints. Rejects with its message. */
  readonly helm: (...args: readonly string[]) => Promise<string>
}

/**
 * Starts a control plane; it is stopped after the last test. Call it while the test file loads.
 *
 * @param hasWorkloads whether controllers run Deployments, for a node of the test
 */
export async function startEmptyCluster(hasWorkloads = true): Promise<EmptyCluster> {
  const controllers = hasWorkloads ? { controllers: 'workloads' as const } : {}
  const started = startControlPlane({ audit: true, ...controllers, log: console.log })
  const plane = await ownedControlPlane(await started)
  const folder = mkdtempSync(join(tmpdir(), 'helm-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const kubectl: Kubectl = (...args) => mustKubectl(plane, args)
  await awaitNewCluster(kubectl)
  return {
    plane,
    folder,
    kubectl,
    file: (name, text) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    env: {
      KUBECONFIG: plane.adminKubeconfig,
      HELM_CACHE_HOME: folder,
      HELM_CONFIG_HOME: folder,
      HELM_DATA_HOME: folder,
    },
  }
}

/** As startEmptyCluster; without Helm all tests of the file are skipped. */
export async function startHelmCluster(hasWorkloads = true): Promise<HelmCluster> {
  const program = await programOrSkip(ensureHelm)
  const cluster = await startEmptyCluster(hasWorkloads)
  return {
    ...cluster,
    program,
    helm: async (...args) => {
      const options = { env: { ...process.env, ...cluster.env }, maxBuffer: 2 ** 26 }
      return (await promisify(execFile)(program, args, options)).stdout
    },
  }
}

const PREPARED_WITHIN_MS = 180_000

/** Prepares a cluster before the tests, unless they are skipped for lack of Helm. */
export function prepare({ program }: HelmCluster, work: () => Promise<void>): void {
  prepareWith([program], work, PREPARED_WITHIN_MS)
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
export async function objectVersions(cluster: Pick<EmptyCluster, 'kubectl'>): Promise<Versions> {
  const all = [...(await allVersions(cluster))]
  return new Map(all.filter(([name]) => !MOVING.has(name.split(' ')[0] ?? '')))
}

/** The versions of all objects of all kinds, of cluster and namespaces, but Events. */
export async function allVersions({ kubectl }: Pick<EmptyCluster, 'kubectl'>): Promise<Versions> {
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
