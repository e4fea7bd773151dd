// The whole life of an installation, by kubectl and the shipped manifests: an empty cluster, install, use,
// upgrade by one version of the image, uninstall, and a cluster as empty as before. The controllers that run
// Deployments are Kubernetes' own; the containers run as the manifests say (node.ts).
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { wholeCluster } from '../support/whole-cluster.ts'
import { type Cluster, startCluster } from './container-cluster.ts'
import { BASE_IMAGE, buildImage, containersOrSkip } from './docker-image.ts'
import { askTheGateway } from './gateway-client.ts'
import { type TestNode, startNode } from './test-node.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAMESPACE = 'platform-system'
const IN_IT = ['-n', NAMESPACE]
const ISSUER = 'https://platform.example.com/oidc'
const REPLICAS = 2

const containers = containersOrSkip()

test('install, use, upgrade, uninstall: nothing is left, and nothing is lost in between (8.3)', async () => {
  if (containers === null) throw new Error('skipped before')
  const cluster = await startCluster(containers)
  onTestFinished(() => cluster.stop())
  await wholeCluster((...args) => cluster.must(args))
  const node = await startNode(cluster)
  onTestFinished(() => node.stop())
  const [first, second] = [await currentVersion(), '99.0.0']
  const before = await everythingIn(cluster)
  expect(before.length).toBeGreaterThan(50)

  await install(cluster, containers.image)
  expect(versionsOf(node)).toEqual(Array(2 * REPLICAS).fill(first))
  await lookInto(cluster, 'gateway')
  await use(cluster)
  const used = await credentials(cluster)
  // kubectl prints nothing for a field that is not there.
  expect(used.join(' ').split(' ')).not.toContain('')

  const next = await nextImage(second)
  const asking = askTheGateway(cluster, node)
  await cluster.must(['apply', '--server-side', '-k', join(ROOT, 'config/base')])
  await install(cluster, next)
  await oldPodsAreGone(node, second)
  const { answers, faults } = await asking.stop()
  expect(faults).toEqual([])
  expect(answers).toBeGreaterThan(10)
  expect(await credentials(cluster)).toEqual(used)
  await staysInCharge(cluster)

  await uninstall(cluster)
  // A kind that has just gone is listed among the kinds for a moment, and can't be listed itself.
  const listed = { withinMs: 60_000 }
  const after = await eventually('every kind can be listed', () => everythingIn(cluster), listed)
  expect(after).toEqual(before)
  expect([...node.pods().keys()]).toEqual([])
  expect(node.problems).toEqual([])
  expect(node.ended.map(({ pod, exitCode, wasTold }) => ({ pod, exitCode, wasTold }))).toEqual(
    node.ended.map(({ pod }) => ({ pod, exitCode: 0, wasTold: true })),
  )
  expect(node.ended).toHaveLength(2 * 2 * REPLICAS)
})

async function currentVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  return (manifest as { readonly version: string }).version
}

/** The same sources under another version, built as an image. */
async function nextImage(version: string): Promise<string> {
  if (containers === null) throw new Error('there is nothing to build on')
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-next-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = ['.dockerignore', 'Dockerfile', 'LICENSE', 'Makefile', 'package-lock.json', 'src']
  for (const path of files) await cp(join(ROOT, path), join(folder, path), { recursive: true })
  const manifest = await readFile(join(ROOT, 'package.json'), 'utf8')
  const changed = manifest.replace(/"version": ".*"/, `"version": "${version}"`)
  await writeFile(join(folder, 'package.json'), changed)
  const tag = `${containers.image}-next`
  await buildImage(containers, tag, folder)
  return tag
}

/** An overlay on config/default with this image, as config/overlays/example is one; then the rollout. */
async function install(cluster: Cluster, image: string): Promise<void> {
  const folder = await overlay(image)
  await cluster.must(['apply', '--server-side', '-k', folder])
  for (const name of ['manager', 'gateway'])
    await cluster.must(['rollout', 'status', `deployment/${name}`, ...IN_IT, '--timeout=120s'])
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
    patches: [{ target: { kind: 'Deployment' }, patch }],
  }
  await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
  return folder
}

/** As docs/install.md tells to: the namespace lets a container with a shell into a pod. */
async function lookInto(cluster: Cluster, component: string): Promise<void> {
  const selector = ['-l', `app.kubernetes.io/component=${component}`]
  const pods = await cluster.must(['get', 'pods', ...IN_IT, ...selector, '-o=name'])
  const [pod = ''] = pods.split('\n')
  const flags = [`--image=${BASE_IMAGE}`, `--target=${component}`]
  const refused = await cluster.kubectl(['debug', pod, ...IN_IT, ...flags, '--', 'sh'])
  expect(refused.stderr).toContain('violates PodSecurity "restricted:')
  await cluster.must(['debug', pod, ...IN_IT, ...flags, '--profile=restricted', '--', 'sh'])
  const target = '-o=jsonpath={.spec.ephemeralContainers[*].targetContainerName}'
  expect(await cluster.must(['get', pod, ...IN_IT, target])).toBe(component)
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
  const keys = ['get', 'secret', ...IN_IT, '-o=jsonpath={.items[*].metadata.uid}']
  return [await cluster.must(key), await cluster.must(token), await cluster.must(keys)]
}

/** Each process says its version when it starts. */
function versionsOf(node: TestNode): readonly string[] {
  return [...node.pods().values()].map((pod) => {
    const [first = ''] = pod.log().split('\n')
    return (JSON.parse(first) as { readonly version: string }).version
  })
}

/** A rollout is over when the new pods are ready; the old ones may take their grace to end. */
async function oldPodsAreGone(node: TestNode, version: string): Promise<void> {
  await eventuallyPasses(
    'only pods of the new version are there',
    () => expect(versionsOf(node)).toEqual(Array(2 * REPLICAS).fill(version)),
    { withinMs: 120_000 },
  )
}

/** One of the managers that are there now leads, and works. */
async function staysInCharge(cluster: Cluster): Promise<void> {
  const holder = '-o=jsonpath={.spec.holderIdentity}'
  const leader = await cluster.must(['get', 'lease/management-operator', ...IN_IT, holder])
  const selector = ['-l', 'app.kubernetes.io/component=manager']
  const managers = await cluster.must(['get', 'pods', ...IN_IT, ...selector, '-o=name'])
  expect(managers).toContain(`pod/${leader.split('_')[0]}\n`)
  const oak = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey' }
  const manifest = { ...oak, metadata: { name: 'after-upgrade' }, spec: { user: 'ada' } }
  await cluster.must(['apply', '--server-side', '-f', '-'], JSON.stringify(manifest))
  const wait = ['wait', '--for=condition=Ready', '--timeout=60s', 'oak/after-upgrade']
  expect(await cluster.must(wait)).toContain('condition met')
}

/** Credentials first: the operator takes its finalizers off, and what it revoked is published. */
async function uninstall(cluster: Cluster): Promise<void> {
  await cluster.must(['delete', 'oak,dcet', '--all', '--timeout=60s'])
  await cluster.must(['delete', '-k', join(ROOT, 'config/default'), '--timeout=120s'])
}

/** Every object of every kind that can be listed, but for events, which the API server forgets by itself. */
async function everythingIn(cluster: Cluster): Promise<readonly string[]> {
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
