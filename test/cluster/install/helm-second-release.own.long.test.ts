// A second release beside the first, in a namespace of its own: cluster-wide objects exist once, so one of both has rights.
import { describe, expect, test } from 'vitest'
import { auditOf } from '../../support/audit-log.ts'
import { staysTrue } from '../../support/eventually.ts'
import {
  CHART,
  allVersions,
  changedBetween,
  objectVersions,
  objectsOfRelease,
  prepare,
  startHelmCluster,
} from './helm-cluster.ts'
import {
  DEPLOYMENTS,
  NAMESPACE,
  awaitRollout,
  createCredentials,
  faultsOfKey,
  keyNamed,
  startPlatformNode,
  valuesOf,
} from './installed-platform.ts'

const OTHER = 'my-platform'
const SECOND = ['second', CHART, `--namespace=${OTHER}`, `--set=namespace=${OTHER}`]

const cluster = await startHelmCluster()
const { plane, kubectl, helm } = cluster
const node = await startPlatformNode(cluster, { present: undefined })
const audit = auditOf(plane)
let key: string

prepare(cluster, async () => {
  const first = ['management-operator', CHART, `--namespace=${NAMESPACE}`, '--create-namespace']
  await helm('install', ...first, ...valuesOf('present'))
  await awaitRollout(cluster, node)
  await createCredentials(cluster, { deploy: {} })
  key = (await keyNamed(cluster, 'deploy')).spec?.key ?? ''
  await kubectl('create', 'namespace', OTHER)
})

/** Objects that differ afterwards, but for what a running product renews. */
async function changedBy(act: () => Promise<unknown>): Promise<readonly string[]> {
  const before = await objectVersions(cluster)
  await act()
  return changedBetween(before, await objectVersions(cluster)).filter(
    (name) => !name.endsWith('/platform-heartbeat'),
  )
}

test.each([
  { name: 'with its kinds', values: [] },
  { name: 'without kinds', values: ['--set=crds.enabled=false'] },
])('a second release $name is refused, and nothing is written (34.1)', async ({ values }) => {
  const refused = () =>
    expect(helm('install', ...SECOND, ...values)).rejects.toThrow(
      /exists and cannot be imported into the current release/,
    )
  expect(await changedBy(refused)).toEqual([])
  expect(await faultsOfKey(cluster, node, key)).toEqual([])
})

describe('a second release with --take-ownership', () => {
  const users = DEPLOYMENTS.map((name) => `system:serviceaccount:${NAMESPACE}:${name}`)

  test('has the rights, and keys work at its gateways (34.2)', async () => {
    await helm('install', ...SECOND, '--take-ownership', ...valuesOf('present'))
    await awaitRollout(cluster, node, OTHER)
    expect(await faultsOfKey(cluster, node, key, OTHER)).toEqual([])
  })

  test('leaves the first without rights: its pods write to no object of the product (5.5, 34.2)', async () => {
    const mark = await audit.mark()
    await kubectl('create', '-f', cluster.file('new.yaml', NEW_KEY))
    await kubectl('wait', 'oak/new', '--for=condition=Ready', '--timeout=30s')
    const { metadata } = await keyNamed(cluster, 'new')
    await staysTrue(
      'nobody writes the key again',
      async () =>
        expect((await keyNamed(cluster, 'new')).metadata.resourceVersion).toBe(
          metadata.resourceVersion,
        ),
      { forMs: 20_000 },
    )
    const writes = (await audit.writesSince(mark, { notLeases: true })).filter(({ user }) =>
      users.includes(user),
    )
    expect(writes.map(({ code }) => code)).toContain(403)
    expect(writes.filter(({ code }) => code < 400)).toEqual([])
  })

  test('keeps all that it has when the first is uninstalled (34.2)', async () => {
    await helm('uninstall', 'management-operator', `--namespace=${NAMESPACE}`)
    await kubectl('wait', 'pods', '--all', '-n', NAMESPACE, '--for=delete', '--timeout=60s')
    const there = await allVersions(cluster)
    const wanted = await objectsOfRelease(cluster, 'second', OTHER)
    expect(wanted.filter((name) => !there.has(name))).toEqual([])
    expect(await faultsOfKey(cluster, node, key, OTHER)).toEqual([])
    expect(node.problems).toEqual([])
  })
})

const NEW_KEY = `apiVersion: management.platform.sh/v1
kind: OwnedAccessKey
metadata: {name: new}
spec: {user: ada}
`
