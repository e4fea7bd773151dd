// The platform in an empty control plane, as a chart or kustomize installs it: its controllers run the Deployments, a test
// node runs the pods as processes of the checkout that their image names.
import { join, relative } from 'node:path'
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll } from 'vitest'
import { stringify } from 'yaml'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { ISSUER } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { gatewayCa } from '../../support/gateway-process.ts'
import { asProcesses } from '../../support/process-pods.ts'
import { type TestNode, startTestNode } from '../../support/test-node.ts'
import type { EmptyCluster } from './helm-cluster.ts'
import { startLoad } from './service-clients.ts'

/** The namespace of the shipped manifests. */
export const NAMESPACE = 'platform-system'
/** Deployments of the platform. A former version may have no delivery process. */
export const DEPLOYMENTS = ['manager', 'gateway', 'delivery']

/** The repository of the images, as on the pages. */
export const REPOSITORY = 'registry.example.com/platform/management-operator'
/** A rollout replaces two pods in turn; a busy machine takes seconds for each. */
const ROLLED_OUT_WITHIN = '--timeout=120s'

/** The image of a tag or digest. */
export const imageOf = (version: string): string =>
  `${REPOSITORY}${version.startsWith('sha256:') ? '@' : ':'}${version}`

/**
 * Starts a node that runs pods of these versions: the program of each tag or digest, the present one for `undefined`. It is stopped
 * after the last test.
 */
export async function startPlatformNode(
  { plane }: EmptyCluster,
  programs: Readonly<Record<string, string | undefined>>,
): Promise<TestNode> {
  const files = Object.entries(programs).map(([tag, file]) => [imageOf(tag), file] as const)
  const toGateway = (argument: string): string => {
    const gateways = [...node.pods().values()].filter(({ name }) => name.startsWith('gateway-'))
    return argument.replace(/gateway\.[\w-]+\.svc$/, () => gateways[0]?.url(8443) ?? '')
  }
  const node = await startTestNode({
    kubeconfig: plane.adminKubeconfig,
    launch: asProcesses({ plane, programs: new Map(files), resolve: toGateway }),
  })
  afterAll(() => node.stop())
  return node
}

/** Creates keys of user ada with these fields, and a token; waits until they are ready. */
export async function createCredentials(
  { kubectl, file }: EmptyCluster,
  specs: Readonly<Record<string, object>>,
): Promise<void> {
  const apiVersion = 'management.platform.sh/v1'
  const keys = Object.entries(specs).map(([name, spec]) => ({
    apiVersion,
    kind: 'OwnedAccessKey',
    metadata: { name },
    spec: { user: 'ada', ...spec },
  }))
  const token = {
    apiVersion,
    kind: 'DirectClusterEndpointToken',
    metadata: { name: 'edge' },
    spec: { ttl: 28_800, scope: { clusters: [{ cluster: 'edge-1' }] } },
  }
  const text = [...keys, token].map((one) => stringify(one)).join('---\n')
  await kubectl('create', '-f', file('credentials.yaml', text))
  await kubectl('wait', 'oak,dcet', '--all', '--for=condition=Ready', '--timeout=30s')
}

/** The key of that name, which exists. @throws Error without one */
export async function keyNamed({ plane }: EmptyCluster, name: string): Promise<OwnedAccessKey> {
  const key = await plane.admin.get<OwnedAccessKey>(ACCESS_KEYS, { name })
  if (key === null) throw new Error(`there is no access key ${name}`)
  return key
}

/** Flags of Helm that set the image and the issuer. */
export const valuesOf = (tag: string): readonly string[] => [
  `--set=image.repository=${REPOSITORY}`,
  `--set=image.tag=${tag}`,
  `--set=issuerURL=${ISSUER}`,
]

/** Applies `config/default` of a checkout with that image, as an overlay of a user does. */
export async function applyDefault(
  { kubectl }: EmptyCluster,
  checkout: string,
  tag: string,
): Promise<void> {
  const folder = join(checkout, 'config/overlays/test')
  mkdirSync(folder, { recursive: true })
  const add = {
    op: 'add',
    path: '/spec/template/spec/containers/0/args/-',
    value: `--issuer-url=${ISSUER}`,
  }
  const kustomization = {
    resources: [relative(folder, join(checkout, 'config/default'))],
    images: [{ name: 'management-operator', newName: REPOSITORY, newTag: tag }],
    patches: [{ target: { kind: 'Deployment', name: 'manager|gateway' }, patch: stringify([add]) }],
  }
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization))
  await kubectl('apply', '--server-side', '-k', folder)
}

/**
 * Waits until all Deployments are rolled out, and settings are in force.
 *
 * @throws Error with what the node could not run, when that takes two minutes
 */
export async function awaitRollout(
  { kubectl }: EmptyCluster,
  node: TestNode,
  namespace = NAMESPACE,
): Promise<void> {
  const all = await kubectl('get', 'deployments', '-n', namespace, '-o', 'name')
  for (const name of DEPLOYMENTS) {
    if (name === 'delivery' && !all.includes(`/${name}\n`)) continue
    const status = ['rollout', 'status', `deployment/${name}`, '-n', namespace, ROLLED_OUT_WITHIN]
    await kubectl(...status).catch((cause: unknown) => {
      throw new Error(`${String(cause)}\n${[...new Set(node.problems)].join('\n')}`, { cause })
    })
  }
  const config = 'config/platform-manager-config'
  await kubectl('wait', config, '--for=condition=Ready', '--timeout=60s')
}

/** Sends requests with a key through the gateways; the reasons of those that failed. */
export async function faultsOfKey(
  { plane }: EmptyCluster,
  node: TestNode,
  key: string,
  namespace = NAMESPACE,
): Promise<readonly string[]> {
  const ca = await gatewayCa(plane.admin, namespace)
  const load = startLoad({ raw: plane.raw, node, namespace, ca, keys: [key], perSecond: 10 })
  await load.answered(6)
  return (await load.stop()).faults
}

/** The pods of a platform as it is installed: two each of manager, gateway and delivery. */
export const PODS = 6

/** Waits until every pod is of that version: a rollout is complete before its old pods have ended. */
export async function awaitOnly(
  { kubectl }: EmptyCluster,
  tag: string,
  namespace = NAMESPACE,
): Promise<void> {
  const images = 'jsonpath={.items[*].spec.containers[*].image}'
  await eventually(
    `only pods of ${tag} exist`,
    async () => {
      const names = (await kubectl('get', 'pods', '-n', namespace, '-o', images)).split(' ')
      if (names.length === PODS && names.every((name) => name === imageOf(tag))) return true
      throw new Error(names.join(' '))
    },
    { withinMs: 120_000 },
  )
}
