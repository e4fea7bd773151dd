// The life cycle of an installation by kubectl and the shipped manifests: install, use, upgrade and uninstall, after
// which the cluster is as empty as before. Controllers of Kubernetes run the Deployments, test-node.ts the pods.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { awaitNewCluster } from '../support/kubectl.ts'
import { type TestNode, startTestNode } from '../support/test-node.ts'
import { type Cluster, startCluster } from './container-cluster.ts'
import { inContainers } from './container-pods.ts'
import { BASE_IMAGE, buildImage, containersOrSkip } from './docker-containers.ts'
import { pollGateway } from './gateway-poller.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAMESPACE = 'platform-system'
const IN_NAMESPACE = ['-n', NAMESPACE]
const ISSUER = 'https://platform.example.com/oidc'
/** Of manager, gateway and delivery two each. */
const PODS = 3 * 2

const containers = containersOrSkip()

test('install, use, upgrade and uninstall lose no object and no request, and leave no object (8.3)', async () => {
  if (containers === null) throw new Error('skipped before')
  const cluster = await startCluster(containers)
  onTestFinished(() => cluster.stop())
  await awaitNewCluster((...args) => cluster.must(args))
  const { kubeconfig, address } = cluster
  const node = await startTestNode({ kubeconfig, launch: inContainers(address) })
  onTestFinished(() => node.stop())
  const [first, second] = [await currentVersion(), '99.0.0']
  const before = await allObjectsIn(cluster)
  expect(before.length).toBeGreaterThan(50)

  await install(cluster, containers.image)
  expect(versionsOf(node)).toEqual(Array(PODS).fill(first))
  await debugPod(cluster, 'gateway')
  await use(cluster)
  const used = await credentials(cluster)
  // kubectl prints nothing for a field that is not there.
  expect(used.join(' ').split(' ')).not.toContain('')

  const next = await nextImage(second)
  const poller = pollGateway(cluster, node)
  await cluster.must(['apply', '--server-side', '-k', join(ROOT, 'config/base')])
  await install(cluster, next)
  await untilOldPodsAreGone(node, second)
  const { answers, faults } = await poller.stop()
  expect(faults).toEqual([])
  expect(answers).toBeGreaterThan(10)
  expect(await credentials(cluster)).toEqual(used)
  await expectLeaderWorks(cluster)

  await uninstall(cluster)
  // A deleted kind is in discovery for a moment longer, and can't be listed then.
  const listed = { withinMs: 60_000 }
  const after = await eventually('every kind can be listed', () => allObjectsIn(cluster), listed)
  expect(after).toEqual(before)
  expect([...node.pods().keys()]).toEqual([])
  expect(node.problems).toEqual([])
  expect(
    node.ended.map(({ pod, exitCode, wasDeleted }) => ({ pod, exitCode, wasDeleted })),
  ).toEqual(node.ended.map(({ pod }) => ({ pod, exitCode: 0, wasDeleted: true })))
  expect(node.ended).toHaveLength(2 * PODS)
})

async function currentVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  return (manifest as { readonly version: string }).version
}

/** Builds an image of the same sources with another version. */
async function nextImage(version: string): Promise<string> {
  if (containers === null) throw new Error('there is nothing to build on')
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-next-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const sources = ['LICENSE', 'package-lock.json', 'src', 'tools/bundle.ts', 'tools/bundle']
  const files = ['.dockerignore', 'Dockerfile', 'Makefile', ...sources]
  for (const path of files) await cp(join(ROOT, path), join(folder, path), { recursive: true })
  const manifest = await readFile(join(ROOT, 'package.json'), 'utf8')
  const changed = manifest.replace(/"version": ".*"/, `"version": "${version}"`)
  await writeFile(join(folder, 'package.json'), changed)
  const tag = `${containers.image}-next`
  await buildImage(containers, tag, folder)
  return tag
}

/** Applies an overlay of config/default with an image, like config/overlays/example, and waits for the rollout. */
async function install(cluster: Cluster, image: string): Promise<void> {
  const folder = await overlay(image)
  await cluster.must(['apply', '--server-side', '-k', folder])
  for (const name of ['manager', 'gateway', 'delivery'])
    await cluster.must([
      'rollout',
      'status',
      `deployment/${name}`,
      ...IN_NAMESPACE,
      '--timeout=120s',
    ])
}

async function overlay(image: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-overlay-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [newName, newTag] = image.split(':')
  const path = '/spec/template/spec/containers/0/args/-'
  const patch = JSON.stringify([{ op: 'add', path, value: `--issuer-url=${ISSUER}` }])
  const kustomization = {
    resources: [relative(folder, join(ROOT, 'config/default'))],
    images: [{ name: 'management-operator', newName, newTag }],
    patches: [{ target: { kind: 'Deployment', name: 'manager|gateway' }, patch }],
  }
  await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
  return folder
}

/** Adds a debug container with a shell to a pod, as in docs/install.md, which the namespace admits. */
async function debugPod(cluster: Cluster, component: string): Promise<void> {
  const selector = ['-l', `app.kubernetes.io/component=${component}`]
  const pods = await cluster.must(['get', 'pods', ...IN_NAMESPACE, ...selector, '-o=name'])
  const [pod = ''] = pods.split('\n')
  const flags = [`--image=${BASE_IMAGE}`, `--target=${component}`]
  const refused = await cluster.kubectl(['debug', pod, ...IN_NAMESPACE, ...flags, '--', 'sh'])
  expect(refused.stderr).toContain('violates PodSecurity "restricted:')
  await cluster.must(['debug', pod, ...IN_NAMESPACE, ...flags, '--profile=restricted', '--', 'sh'])
  const target = '-o=jsonpath={.spec.ephemeralContainers[*].targetContainerName}'
  expect(await cluster.must(['get', pod, ...IN_NAMESPACE, target])).toBe(component)
}

async function use(cluster: Cluster): Promise<void> {
  await cluster.must(['apply', '--server-side', '-k', join(ROOT, 'config/samples')])
  const ready = ['oak/ci-deploy', 'oak/laptop-cli', 'oak/year-long', 'dcet/edge-reader']
  await cluster.must(['wait', '--for=condition=Ready', '--timeout=60s', ...ready])
}

/** What holders of credentials and verifiers of tokens have, and must still have afterwards. */
async function credentials(cluster: Cluster): Promise<readonly string[]> {
  const key = ['get', 'oak/ci-deploy', '-o=jsonpath={.spec.key} {.status.expirationTimestamp}']
  const token = ['get', 'dcet/edge-reader', '-o=jsonpath={.status.token}']
  const keys = ['get', 'secret', ...IN_NAMESPACE, '-o=jsonpath={.items[*].metadata.uid}']
  return [await cluster.must(key), await cluster.must(token), await cluster.must(keys)]
}

/** The version in the first log line of each pod. */
function versionsOf(node: TestNode): readonly string[] {
  return [...node.pods().values()].map((pod) => {
    const [first = ''] = pod.log().split('\n')
    return (JSON.parse(first) as { readonly version: string }).version
  })
}

/** Waits until no old pod is left: a rollout is complete before the grace period of old pods is over. */
async function untilOldPodsAreGone(node: TestNode, version: string): Promise<void> {
  await eventuallyPasses(
    'only pods of the new version exist',
    () => expect(versionsOf(node)).toEqual(Array(PODS).fill(version)),
    { withinMs: 120_000 },
  )
}

/** Expects that a present manager leads and adopts a new key. */
async function expectLeaderWorks(cluster: Cluster): Promise<void> {
  const holder = '-o=jsonpath={.spec.holderIdentity}'
  const leader = await cluster.must(['get', 'lease/management-operator', ...IN_NAMESPACE, holder])
  const selector = ['-l', 'app.kubernetes.io/component=manager']
  const managers = await cluster.must(['get', 'pods', ...IN_NAMESPACE, ...selector, '-o=name'])
  expect(managers).toContain(`pod/${leader.split('_')[0]}\n`)
  const oak = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey' }
  const manifest = { ...oak, metadata: { name: 'after-upgrade' }, spec: { user: 'ada' } }
  await cluster.must(['apply', '--server-side', '-f', '-'], JSON.stringify(manifest))
  const wait = ['wait', '--for=condition=Ready', '--timeout=60s', 'oak/after-upgrade']
  expect(await cluster.must(wait)).toContain('condition met')
}

const PEOPLE = 'users.management.platform.sh,teams.management.platform.sh'

/** Deletes claims, credentials and people first, so that the operator removes its finalizers (docs/install.md). */
async function uninstall(cluster: Cluster): Promise<void> {
  const held = `akc,oak,dcet,${PEOPLE}`
  await cluster.must(['delete', held, '--all', '--all-namespaces', '--timeout=60s'])
  await cluster.must(['delete', '-k', join(ROOT, 'config/default'), '--timeout=120s'])
}

/** All objects of all kinds but Events, which expire by themselves. */
async function allObjectsIn(cluster: Cluster): Promise<readonly string[]> {
  const kinds = await cluster.must(['api-resources', '--verbs=list', '-o', 'name'])
  const resources = kinds
    .split('\n')
    .filter((name) => name !== '' && !name.startsWith('events') && name !== 'componentstatuses')
  const columns = 'custom-columns=K:.kind,NS:.metadata.namespace,N:.metadata.name'
  const all = ['get', resources.join(','), '-A', '--no-headers', '-o', columns]
  return (await cluster.must(all))
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' '))
    .toSorted()
}
