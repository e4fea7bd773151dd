// The platform by its chart on an empty cluster: installed, checked, upgraded, rolled back, removed and installed again.
// There is no kubelet: the test starts the programs as the Deployments say, as their accounts.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ISSUER, runProgram, startOperator } from '../../support/command-process.ts'
import { startGateway } from '../../support/gateway-process.ts'
import { startHelmCluster } from './helm-cluster.ts'
import { objectsIn } from './installer.ts'

const NAMESPACE = 'platform-system'
const RELEASE = ['platform', join(CHARTS, PLATFORM), `--namespace=${NAMESPACE}`]
/** Kinds whose objects the chart has. */
const KINDS =
  'crd,clusterrole,clusterrolebinding,role,rolebinding,serviceaccount,service,deployment,poddisruptionbudget,networkpolicy,validatingadmissionpolicy,validatingadmissionpolicybinding,flowschema,oak'

const cluster = await startHelmCluster(false)
const { plane, kubectl } = cluster
const run = cluster.helm
const file = (name: string, text: string): string => cluster.file(`${name}.yaml`, text)

/** The versions of all objects of the release, and of keys, by `kind/name`. */
async function versions(): Promise<Readonly<Record<string, string>>> {
  const columns = 'custom-columns=K:.kind,N:.metadata.name,V:.metadata.resourceVersion'
  const label = 'app.kubernetes.io/part-of=management-operator'
  const of = async (kinds: string, ...more: readonly string[]) =>
    (await kubectl('get', kinds, '-A', '--no-headers', '-o', columns, ...more)).trim().split('\n')
  const rows = [...(await of(KINDS.replace(',oak', ''), '-l', label)), ...(await of('oak'))]
  return Object.fromEntries(
    rows.map((row) => {
      const [kind = '', name = '', version = ''] = row.split(/ +/)
      return [`${kind}/${name}`, version]
    }),
  )
}

const changedSince = async (before: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  Object.entries(await versions())
    .filter(([name, version]) => before[name] !== version)
    .map(([name]) => name)

test('helm install puts the product into an empty cluster, and says what to type next (34.2)', async () => {
  const notes = await run('install', ...RELEASE, '--create-namespace', `--set=issuerURL=${ISSUER}`)
  expect(notes).toContain('kubectl wait oak/first-key --for=condition=Ready')
  expect(notes).toContain(`helm test platform -n ${NAMESPACE}`)
  await kubectl('wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s')
})

test('a second installation is refused, and names what is there', async () => {
  const other = ['other', join(CHARTS, PLATFORM), '--namespace=other', '--create-namespace']
  await expect(run('install', ...other, '--set=namespace=other')).rejects.toThrow(
    /exists and cannot be imported into the current release/,
  )
})

describe('with manager and gateway', () => {
  let before: Readonly<Record<string, string>>

  test('a key works at the gateway, and the account of helm test finds nothing missing (34.2)', async () => {
    await using manager = await startOperator({
      kubeconfig: await plane.serviceAccountKubeconfig(NAMESPACE, 'manager'),
      flags: [`--issuer-url=${ISSUER}`],
    })
    await using gateway = await startGateway({
      kubeconfig: await plane.serviceAccountKubeconfig(NAMESPACE, 'gateway'),
      flags: [`--issuer-url=${ISSUER}`],
    })
    await kubectl(
      'wait',
      'config/platform-manager-config',
      '--for=condition=Ready',
      '--timeout=30s',
    )
    const account = testAccount(await run('template', ...RELEASE, ...TESTS))
    await kubectl('apply', '-f', account)
    const kubeconfig = await plane.serviceAccountKubeconfig(NAMESPACE, 'management-operator-check')
    const flags = [`--kubeconfig=${kubeconfig}`, `--gateway=${gateway.url()}`, '--wait=5s']
    const { stdout } = await runProgram(['check', ...flags])
    const found = stdout.split('\n').filter((line) => line.startsWith('found'))
    expect(found.map((line) => line.split(/ +/)[1])).toEqual(
      expect.arrayContaining(['kinds', 'policies', 'rights', 'settings', 'lease', 'key']),
    )
    await kubectl('delete', '-f', account)
    expect(manager.output().stderr).toBe('')
    await kubectl('create', '-f', keyNamed('kept'))
    await kubectl('wait', 'oak/kept', '--for=condition=Ready', '--timeout=30s')
  })

  test('an upgrade writes only what it changes (34.2)', async () => {
    before = await versions()
    await run('upgrade', ...RELEASE, '--reuse-values', '--set=gateway.replicas=3')
    expect(await changedSince(before)).toEqual(['Deployment/gateway'])
  })

  test('a rollback brings the Deployment back, and touches no other object (34.2)', async () => {
    before = await versions()
    await run('rollback', 'platform', '1', `--namespace=${NAMESPACE}`)
    expect(await changedSince(before)).toEqual(['Deployment/gateway'])
    const replicas = await kubectl('get', 'deployment/gateway', '-n', NAMESPACE, '-o', REPLICAS)
    expect(replicas).toBe('2')
  })

  test('an uninstall leaves kinds and keys, and nothing else (34.2)', async () => {
    await run('uninstall', 'platform', `--namespace=${NAMESPACE}`)
    const left = Object.keys(await versions())
    expect(left.filter((name) => !name.startsWith('CustomResourceDefinition/')).toSorted()).toEqual(
      ['OwnedAccessKey/kept', 'OwnedAccessKey/platform-heartbeat'],
    )
    expect(left.filter((name) => name.startsWith('CustomResourceDefinition/'))).toHaveLength(6)
  })

  test('a new installation under another name takes the kinds over, and the key works again (34.2)', async () => {
    const again = ['again', join(CHARTS, PLATFORM), '--namespace=my-platform', '--create-namespace']
    await run('install', ...again, '--set=namespace=my-platform', '--take-ownership')
    await using manager = await startOperator({
      kubeconfig: await plane.serviceAccountKubeconfig('my-platform', 'manager'),
      flags: [`--issuer-url=${ISSUER}`, '--namespace=my-platform'],
    })
    await kubectl('wait', 'oak/kept', '--for=condition=Ready', '--timeout=30s')
    await kubectl('create', '-f', keyNamed('new'))
    await kubectl('wait', 'oak/new', '--for=condition=Ready', '--timeout=30s')
    expect(manager.output().stderr).toBe('')
  })
})

const REPLICAS = 'jsonpath={.spec.replicas}'
const TESTS = ['--show-only=templates/tests/check.yaml']

/** The account of `helm test` with its rights, without the Pod: nothing runs it here. @returns a file */
function testAccount(text: string): string {
  const objects = objectsIn(text).filter(({ kind }) => kind !== 'Pod')
  return file('test-account', objects.map((one) => stringify(one)).join('---\n'))
}

const keyNamed = (name: string): string =>
  file(
    name,
    stringify({
      apiVersion: 'management.platform.sh/v1',
      kind: 'OwnedAccessKey',
      metadata: { name },
      spec: { user: 'ada' },
    }),
  )
