// The commands of docs/helm.md that take the product out, with a manager that works and without one; and a release under
// another name that finds the objects of the first. Controllers of Kubernetes run the Deployments, a test node the pods.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runBlock, shellBlocksOf } from '../../support/documentation-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { CHART, allVersions, startHelmCluster } from './helm-cluster.ts'
import {
  NAMESPACE,
  awaitRollout,
  createCredentials,
  faultsOfKey,
  keyNamed,
  startPlatformNode,
  valuesOf,
} from './installed-platform.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const pageOf = (name: string): string => readFileSync(join(DOCS, name), 'utf8')
const [deleteObjects = '', uninstall = '', deleteKinds = '', deleteNamespace = ''] = (
  shellBlocksOf(pageOf('helm.md')).find((block) => block.includes('helm uninstall')) ?? ''
).split('\n')
/** Of the section about the finalizer: NAME stands for an object, and `dcet` for `oak`. */
const [, takeOff = ''] = /^ {4}(kubectl patch oak NAME .*)$/m.exec(pageOf('permissions.md')) ?? []
const [FIRST, AGAIN, OTHER] = ['management-operator', 'again', 'my-platform']
/** What the product makes in its namespace. */
const MADE = ['ConfigMap', 'Lease', 'Secret', 'ServiceAccount']
const KINDS = [
  'accesskeyclaims',
  'configs',
  'directclusterendpointtokens',
  'ownedaccesskeys',
  'teams',
  'users',
].map((name) => `CustomResourceDefinition /${name}.management.platform.sh`)

const cluster = await startHelmCluster()
const { plane, kubectl, helm } = cluster
const node = await startPlatformNode(cluster, { present: undefined })
const objects = async (): Promise<readonly string[]> => [...(await allVersions(cluster)).keys()]
const empty = await objects()

/** What is there beside an empty cluster. A deleted kind is in discovery for a moment, and can't be listed then. */
const added = (): Promise<readonly string[]> =>
  eventually(
    'every kind can be listed',
    async () => (await objects()).filter((name) => !empty.includes(name)).toSorted(),
    { withinMs: 60_000 },
  )

/** The same, once all pods have ended. */
async function left(): Promise<readonly string[]> {
  const pods = ['wait', 'pods', '--all', '-A', '--for=delete', '--timeout=60s']
  await kubectl(...pods)
  return added()
}

/** Of the whole cluster: what is in no namespace. */
const clusterWide = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name.includes(' /') && !name.startsWith('APIService'))

/** The same of an uninstallation: gateways that still run may make their heartbeat anew. */
const leftWide = async (): Promise<readonly string[]> =>
  clusterWide(await left()).filter((name) => !name.endsWith('/platform-heartbeat'))

/** Runs a command of a page as an administrator, with the names of another release. */
function run(command: string, release = FIRST, namespace = NAMESPACE): Promise<string> {
  const named = command.replace(FIRST, release).replace(NAMESPACE, namespace)
  const env = { ...cluster.env, PATH: dirname(cluster.program) }
  return runBlock(plane, named, { cwd: cluster.folder, env })
}

async function install(release = FIRST, namespace = NAMESPACE): Promise<void> {
  const where = [`--namespace=${namespace}`, '--create-namespace', `--set=namespace=${namespace}`]
  await helm('install', release, CHART, ...where, '--take-ownership', ...valuesOf('present'))
  await awaitRollout(cluster, node, namespace)
}

describe('a release that is uninstalled alone', () => {
  test('leaves kinds, keys, tokens and settings, and what the product made in its namespace (34.2)', async () => {
    await install()
    await createCredentials(cluster, { deploy: { ttl: 3600 } })
    await run(uninstall)
    const rest = await left()
    expect(clusterWide(rest)).toEqual([
      'Config /platform-manager-config',
      ...KINDS,
      'DirectClusterEndpointToken /edge',
      `Namespace /${NAMESPACE}`,
      'OwnedAccessKey /deploy',
      'OwnedAccessKey /platform-heartbeat',
      'Team /platform-heartbeat',
      'User /platform-heartbeat',
    ])
    const inside = rest.filter((name) => name.includes(` ${NAMESPACE}/`))
    expect(new Set(inside.map((name) => name.split(' ')[0]))).toEqual(new Set(MADE))
  })

  test('is installed again under another name and namespace, where its keys work (34.2)', async () => {
    const token = () => kubectl('get', 'dcet/edge', '-o', 'jsonpath={.metadata.uid} {.status}')
    const [key, before] = [await keyNamed(cluster, 'deploy'), await token()]
    await install(AGAIN, OTHER)
    expect(await faultsOfKey(cluster, node, key.spec?.key ?? '', OTHER)).toEqual([])
    expect((await keyNamed(cluster, 'deploy')).spec).toEqual(key.spec)
    expect(await token()).toBe(before)
  })
})

test('the commands of the page leave nothing, with a manager that works (34.2)', async () => {
  await run(deleteObjects, AGAIN, OTHER)
  await run(uninstall, AGAIN, OTHER)
  expect(await leftWide()).toEqual([
    'Config /platform-manager-config',
    ...KINDS,
    ...[OTHER, NAMESPACE].map((name) => `Namespace /${name}`),
  ])
  await run(deleteKinds)
  await run(deleteNamespace, AGAIN, OTHER)
  await run(deleteNamespace)
  expect(await added()).toEqual([])
})

test('the commands of the page leave nothing, with the finalizer taken off where no manager works (5.1, 34.2)', async () => {
  await install()
  await createCredentials(cluster, { deploy: { ttl: 3600 }, other: {} })
  await kubectl('scale', 'deployment/manager', '--replicas=0', '-n', NAMESPACE)
  const managers = ['pods', '-n', NAMESPACE, '-l', 'app.kubernetes.io/component=manager']
  await kubectl('wait', ...managers, '--for=delete', '--timeout=60s')
  const deleting = run(deleteObjects)
  const held = ['oak/deploy', 'oak/other', 'dcet/edge']
  const isMarked = '--for=jsonpath={.metadata.deletionTimestamp}'
  await kubectl('wait', ...held, isMarked, '--timeout=30s')
  for (const name of held) {
    const [kind = '', one = ''] = name.split('/')
    await run(takeOff.replace('oak NAME', `${kind} ${one}`))
  }
  await deleting
  await run(uninstall)
  expect(await leftWide()).toEqual([
    'Config /platform-manager-config',
    ...KINDS,
    `Namespace /${NAMESPACE}`,
  ])
  await run(deleteKinds)
  await run(deleteNamespace)
  expect(await added()).toEqual([])
  expect(node.problems).toEqual([])
})
