// config/ in another namespace, by the overlay of docs/install.md: the output of kustomize, and manager and gateway
// with only the accounts of that namespace.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { newKey } from '../../support/object-builder.ts'
import { inWhole } from '../../support/tier.ts'
import { CONFIG, type Manifest, objectsIn, titleOf, toolFor } from './installer.ts'

interface Subject {
  readonly kind: string
  readonly namespace?: string
}

const NAMESPACE = 'my-platform'
const SHIPPED = 'platform-system'
const GATEWAY = [{ serviceAccount: { namespace: NAMESPACE, name: 'gateway' } }]
const COMPONENTS = ['legacy-impersonation', 'prometheus']
const PAGE = readFileSync(join(CONFIG, '../docs/install.md'), 'utf8')
const [, OVERLAY = ''] = /```yaml\n([^`]*\nnamespace: my-platform\n[^`]*)```/.exec(PAGE) ?? []

const plane = await ownControlPlane()
const root = mkdtempSync(join(tmpdir(), 'another-namespace-'))
afterAll(() => rmSync(root, { recursive: true }))
for (const part of ['config', 'crds'])
  cpSync(join(CONFIG, '..', part), join(root, part), { recursive: true })

/** Writes an overlay beside the shipped ones; returns its folder. */
function overlay(name: string, change: object = {}): string {
  const folder = join(root, 'config/overlays', name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'kustomization.yaml'), stringify({ ...parse(OVERLAY), ...change }))
  return folder
}

const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

const components = COMPONENTS.map((name) => `../../components/${name}`)

describe.each([
  { name: 'default', change: {} },
  { name: 'default and components', change: { components } },
  { name: 'base and components', change: { resources: ['../../base'], components } },
])('config/$name', ({ name, change }) => {
  let objects: readonly Manifest[]
  let text: string
  beforeAll(async () => {
    text = await kubectl('kustomize', overlay(name.replaceAll(' ', '-'), change))
    objects = objectsIn(text)
  })
  const of = (kind: string): readonly Manifest[] => objects.filter((one) => one.kind === kind)

  test('has all objects in that namespace, which has the shipped labels', () => {
    expect(text).not.toContain(SHIPPED)
    const [namespace] = of('Namespace')
    expect(namespace?.metadata).toMatchObject({
      name: NAMESPACE,
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
    })
    const elsewhere = objects.filter(
      ({ metadata }) => ![undefined, NAMESPACE].includes(metadata.namespace),
    )
    expect(elsewhere.map(titleOf)).toEqual([])
  })

  test('grants rights only to accounts of that namespace', () => {
    const bindings = [...of('ClusterRoleBinding'), ...of('RoleBinding')]
    const subjects = bindings.flatMap((one) => one['subjects'] as readonly Subject[])
    expect(subjects.length).toBeGreaterThan(3)
    expect(new Set(subjects.map(({ kind, namespace }) => `${kind} ${namespace}`))).toEqual(
      new Set([`ServiceAccount ${NAMESPACE}`]),
    )
    expect(of('FlowSchema')).toMatchObject([{ spec: { rules: [{ subjects: GATEWAY }] } }])
  })
})

// biome-ignore format: a table
test.each([
  { part: 'gateway', component: 'audit', resources: ['../../default'], args: ['gateway', '--audit-subdirectory=$(POD_NAME)'], mounts: [] },
  { part: 'direct', component: 'audit-direct', resources: ['../../direct'], mounts: ['state', 'central'],
    args: ['direct', '--cluster=my-cluster', '--issuer-url=https://platform.example.com/oidc', '--state-dir=/var/lib/management-operator/state',
      '--audit-path=/var/log/audit', '--audit-subdirectory=$(POD_NAME)', '--access-key-file=/etc/management-operator/central/key',
      '--central-ca-file=/etc/management-operator/central/ca.crt', '--central-url=https://platform.example.com'] },
])('components/$component gives each $part a volume, which the API server accepts (22.5, 23.1)', async ({ part, component, resources, args, mounts }) => {
  const audited = overlay(component, { resources, components: [`../../components/${component}`] })
  const objects = objectsIn(await kubectl('kustomize', audited))
  const [workload, ...others] = objects.filter(
    ({ kind, metadata }) => metadata.name === part && ['Deployment', 'StatefulSet'].includes(kind),
  )
  expect([workload?.kind, others]).toEqual(['StatefulSet', []])
  await kubectl('create', 'namespace', NAMESPACE)
  const file = join(root, `${part}.json`)
  writeFileSync(file, JSON.stringify(workload))
  const [accepted] = objectsIn(
    await kubectl('create', '--dry-run=server', '-o', 'yaml', '-f', file),
  )
  expect(accepted).toMatchObject({
    spec: {
      podManagementPolicy: 'Parallel',
      volumeClaimTemplates: [{ metadata: { name: 'audit' } }],
      template: {
        spec: {
          securityContext: { fsGroup: 65532, runAsUser: 65532 },
          containers: [{ args }],
        },
      },
    },
  })
  const { volumeMounts } = containerOf(accepted)
  expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual([...mounts, 'audit'].toSorted())
  await kubectl('delete', 'namespace', NAMESPACE)
})

interface Container {
  readonly volumeMounts: readonly { readonly name: string }[]
}

/** The container of a workload. */
function containerOf(workload: Manifest | undefined): Container {
  const { spec } = workload as unknown as {
    spec: { template: { spec: { containers: readonly [Container] } } }
  }
  return spec.template.spec.containers[0]
}

describe('applied to a cluster', () => {
  const flags = [`--issuer-url=${ISSUER}`]
  const env = { POD_NAMESPACE: NAMESPACE }
  const kubeconfigOf = (account: string) => plane.serviceAccountKubeconfig(NAMESPACE, account)

  beforeAll(async () => {
    await kubectl('apply', '--server-side', '-k', overlay('applied'))
    // So that no account of the shipped namespace has rights.
    await kubectl('delete', 'serviceaccounts', '-n', SHIPPED, '--all')
  })

  test('the manager runs with its own account, and kubectl describe finds its events (4.5, 8.1)', async () => {
    const kubeconfig = await kubeconfigOf('manager')
    await using operator = await startOperator({
      kubeconfig,
      env,
      flags: [...flags, '--leader-elect'],
    })
    const { metadata } = await plane.admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey(), 'test')
    const { name } = metadata
    await kubectl('wait', `oak/${name}`, '--for=condition=Ready', '--timeout=30s')
    expect(await kubectl('get', 'oak', name, '-o', 'jsonpath={.spec.key}')).toMatch(/^pak_/)
    await eventuallyPasses(
      'the event exists',
      async () => expect(await kubectl('describe', 'oak', name)).toContain('KeyGenerated'),
      { withinMs: 20_000 },
    )
    const about = `--field-selector=involvedObject.name=${name}`
    const where = 'jsonpath={.items[*].metadata.namespace}'
    expect(await kubectl('get', 'events', '-A', about, '-o', where)).toMatch(/^default( default)*$/)
    const lease = ['lease', 'management-operator', '-n', NAMESPACE, '-o', 'name']
    expect(await kubectl('get', ...lease)).not.toBe('')
    expect(operator.logs().filter(({ level }) => level !== 'info')).toEqual([])
  })

  test('the FlowSchema names the gateway of that namespace', async () => {
    const schema = ['flowschema', 'management-operator-gateway', '-o']
    const subject = '{.spec.rules[*].subjects[*].serviceAccount}'
    expect(JSON.parse(await kubectl('get', ...schema, `jsonpath=${subject}`))).toEqual({
      name: 'gateway',
      namespace: NAMESPACE,
    })
  })

  test.each(inWhole('the gateway runs with its own account (10.5)'))('%s', async () => {
    const manager = await kubeconfigOf('manager')
    await using operator = await startOperator({ kubeconfig: manager, env, flags })
    await using gateway = await startGateway({
      kubeconfig: await kubeconfigOf('gateway'),
      env,
      flags,
    })
    for (const program of [operator, gateway])
      expect((await program.health('/readyz')).code).toBe(200)
    const secret = ['secret', 'platform-gateway-tls', '-n', NAMESPACE, '-o', 'name']
    expect(await kubectl('get', ...secret)).not.toBe('')
  })

  test.each([['install'], ['deploy', '--image', 'operator:1'], ['undeploy']])(
    'make %s refuses to touch it and names its namespace',
    async (...args) => {
      const tool = await toolFor(plane)
      const { code, err } = await tool(args)
      expect({ code, err }).toEqual({
        code: 1,
        err: expect.stringContaining(`the operator is in namespace ${NAMESPACE}, by an overlay`),
      })
    },
  )
})
