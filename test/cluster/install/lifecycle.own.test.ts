// `make install`, `make deploy` and `make undeploy` on an empty cluster, with kubectl from PATH. There is no kubelet:
// the test writes the status of Deployments and starts the operator as a process.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ACCESS_KEY_CLAIMS, API_VERSION, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl, awaitNewCluster } from '../../support/kubectl.ts'
import { inWhole } from '../../support/tier.ts'
import { COMPONENT, CONFIG, LEGACY, PROBE_OBJECTS, reportAvailable, toolFor } from './installer.ts'

const IMAGE = 'registry.example.com:5000/platform/management-operator:1.2.3'
const DEPLOYMENTS = ['manager', 'gateway', 'delivery']
const { namespace, name: account } = OPERATOR_ACCOUNT
/** A Role of earlier versions. */
const FORMER = 'management-operator-manager'
const REMOVED =
  'this cluster has constrained impersonation: removed config/components/legacy-impersonation'
/** Events outlive their objects by an hour. */
const EVENTS = / Event /

const plane = await startControlPlane({ log: console.log })
const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)
afterAll(() => plane.stop())
const tool = await toolFor(plane)
await awaitNewCluster(kubectl)
const empty = await allObjects()

describe('make install', () => {
  test('creates the CRDs, roles and policies, and no pods', async () => {
    expect(await tool(['install'])).toMatchObject({ code: 0, err: '' })
    const made = (await allObjects()).filter((name) => !empty.includes(name))
    const kinds = new Set(made.map((name) => name.split(' ')[1]))
    const wanted = ['CustomResourceDefinition', 'ClusterRole', 'ValidatingAdmissionPolicy']
    expect([...kinds]).toEqual(expect.arrayContaining(wanted))
    expect([...kinds]).not.toContain('Deployment')
  })

  test('can be repeated, and removes the older right to impersonate and objects of earlier versions (10.5)', async () => {
    await kubectl('apply', '--server-side', '-f', COMPONENT)
    await kubectl('create', 'role', FORMER, '-n=default', '--verb=create', '--resource=events')
    const { code, out, err } = await tool(['install'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(REMOVED)
    expect(out).toContain(`role.rbac.authorization.k8s.io "${FORMER}" deleted from default`)
    expect(await kubectl('get', 'role', FORMER, '-n=default', '--ignore-not-found')).toBe('')
    expect(await kubectl('get', ...LEGACY)).toBe('')
  })
})

describe('make deploy', () => {
  const shipped = filesOf(CONFIG)

  test('sets the image of all Deployments and waits until they are available', async () => {
    const deploying = tool(['deploy', '--image', IMAGE])
    for (const name of DEPLOYMENTS) await reportAvailable(plane, name)
    const { code, out, err } = await deploying
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out, 'there was nothing to add or remove').not.toContain('constrained impersonation')
    expect(await kubectl('get', ...PROBE_OBJECTS)).toBe('')
    const path = 'jsonpath={.items[*].spec.template.spec.containers[*].image}'
    expect(await kubectl('get', 'deployments', '-n', namespace, '-o', path)).toBe(
      DEPLOYMENTS.map(() => IMAGE).join(' '),
    )
  })

  test('fails with the name of a Deployment that does not become available', async () => {
    const { code, err } = await tool(['deploy', '--image', `${IMAGE}-broken`, '--timeout', '2s'])
    expect(code).toBe(1)
    expect(err).toContain('Deployment manager does not run: ')
  })

  test('rejects an invalid image and changes nothing', async () => {
    const { code, err } = await tool(['deploy', '--image', 'no image'])
    expect({ code, err }).toEqual({
      code: 1,
      err: 'no image "no image": give name, name:tag or name@sha256:...\n',
    })
  })

  test('does not change the manifests in config/', () => {
    expect(filesOf(CONFIG)).toEqual(shipped)
  })
})

describe('make undeploy (5.1)', () => {
  test('lets a running operator end all keys and tokens, and leaves no object', async () => {
    await using operator = await startManager()
    await settledSamples()
    await createClaim({})
    const { code, out, err } = await tool(['undeploy'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(
      /deleting claims: \d, access keys: 6, tokens: 1, users: 2, teams: 1, and waiting for the operator/,
    )
    expect(out).toContain('tokens are recorded as revoked')
    expect(out).not.toContain('DOES NOT ANSWER')
    expect(await operator.stop()).toEqual({ code: 0, signal: null })
    expect(await leftOvers()).toEqual([])
  })

  test('can be repeated', async () => {
    const { code, out, err } = await tool(['undeploy'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^taking the operator out of .*\ndone: nothing of the operator is left\n$/)
  })

  // The tool waits a minute for the operator.
  test.each(
    inWhole('warns without a running operator, and stops at objects with foreign finalizers'),
  )('%s', async () => {
    await tool(['install'])
    const operator = await startManager()
    await settledSamples()
    await createClaim({ finalizers: [REVOKE_FINALIZER] })
    operator.kill('SIGKILL')
    await operator.exited
    const held = '{"metadata":{"finalizers":["management.platform.sh/revoke","example.com/hold"]}}'
    await kubectl('patch', 'oak', 'laptop-cli', '--type=merge', '-p', held)
    const end = await kubectl(
      'get',
      'dcet',
      '-o',
      'jsonpath={.items[0].status.expirationTimestamp}',
    )
    const { code, out, err } = await tool(['undeploy'])
    expect(code).toBe(1)
    expect(out).toContain('THE OPERATOR DOES NOT ANSWER')
    expect(out).toContain('there is no Deployment manager, and there is no Deployment delivery')
    expect(out).toContain(
      'Taking its finalizer off claims: 1, access keys: 6, tokens: 1, users: 2, teams: 1 without it',
    )
    expect(out).toContain(`here ${end} at the latest`)
    expect(err).toBe(
      'others hold these; run it again when their finalizers are gone:\n' +
        '  ownedaccesskeys.management.platform.sh/laptop-cli: example.com/hold\n',
    )
    expect(await kubectl('get', 'oak,dcet', '-o', 'name')).toBe(
      'ownedaccesskey.management.platform.sh/laptop-cli\n',
    )
  })

  test.each(inWhole('continues when the finalizer is removed, and leaves no object'))(
    '%s',
    async () => {
      await kubectl(
        'patch',
        'oak',
        'laptop-cli',
        '--type=json',
        '-p',
        '[{"op":"remove","path":"/metadata/finalizers"}]',
      )
      expect(await tool(['undeploy'])).toMatchObject({ code: 0, err: '' })
      expect(await leftOvers()).toEqual([])
    },
  )
})

const OVERLAY = 'make undeploy of an overlay with the component for older API servers (5.1, A4)'
describe.each(inWhole(OVERLAY))('%s', () => {
  /** Roles and bindings of an admin, some of them to our roles. */
  const foreign = [
    ['clusterrole', 'platform:scope:foreign', '--verb=get', '--resource=pods'],
    ['clusterrolebinding', 'their-key-admin', '--clusterrole=platform-key-admin', '--user=ada'],
  ]

  test('removes the right to impersonate, and keeps foreign objects', async () => {
    await tool(['install'])
    await kubectl('apply', '--server-side', '-f', COMPONENT)
    for (const args of foreign) await kubectl('create', ...args)
    const { code, out, err } = await tool(['undeploy'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('"management-operator-gateway-legacy-impersonation" deleted')
    expect((await leftOvers()).toSorted()).toEqual([
      'rbac.authorization.k8s.io/v1 ClusterRole /platform:scope:foreign',
      'rbac.authorization.k8s.io/v1 ClusterRoleBinding /their-key-admin',
    ])
  })

  test('stops at a binding with a finalizer, and names it', async () => {
    const binding = 'management-operator-gateway-legacy-impersonation'
    const hold = (finalizers: readonly string[]): Promise<string> => {
      const patch = JSON.stringify({ metadata: { finalizers } })
      return kubectl('patch', 'clusterrolebinding', binding, '--type=merge', '-p', patch)
    }
    await kubectl('apply', '--server-side', '-f', COMPONENT)
    await hold(['example.com/hold'])
    const { code, out, err } = await tool(['undeploy'])
    expect(code).toBe(1)
    expect(out).not.toContain('done')
    expect(err).toBe(`these do not go:\nclusterrolebinding.rbac.authorization.k8s.io/${binding}\n`)
    await hold([])
    expect(await tool(['undeploy'])).toMatchObject({ code: 0, err: '' })
    for (const [kind = '', name = ''] of foreign) await kubectl('delete', kind, name)
    expect(await leftOvers()).toEqual([])
  })
})

test('the tool prints where to get kubectl when it is missing', async () => {
  const { code, err } = await tool(['install'], { path: '' })
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/^kubectl is not on PATH: /),
  })
})

/** All objects of all kinds but Events, with their namespaces. */
async function allObjects(): Promise<readonly string[]> {
  const kinds = await kubectl('api-resources', '--verbs=list', '-o', 'name')
  const path =
    '{range .items[*]}{.apiVersion} {.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
  const names = await kubectl(
    'get',
    kinds.trim().split('\n').join(','),
    '-A',
    '-o',
    `jsonpath=${path}`,
  )
  return names.split('\n').filter((name) => name !== '' && !EVENTS.test(name))
}

/** A deleted kind is in discovery for a moment longer, and can't be listed then. */
const leftOvers = (): Promise<readonly string[]> =>
  eventually(
    'every kind can be listed',
    async () => (await allObjects()).filter((name) => !empty.includes(name)),
    { withinMs: 60_000 },
  )

async function startManager() {
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)
  return startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
}

/** Creates a claim, as no delivery process has seen it or, with the finalizer, as one has. */
async function createClaim(metadata: { readonly finalizers?: readonly string[] }): Promise<void> {
  const { kind } = ACCESS_KEY_CLAIMS
  const placed = { ...metadata, name: 'claimed', namespace: 'default' }
  const object = { apiVersion: API_VERSION, kind, metadata: placed, spec: {} }
  await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(object) })
}

/** Applies the samples and waits until the operator has reconciled each. */
async function settledSamples(): Promise<void> {
  await kubectl('apply', '--server-side', '-k', join(CONFIG, 'samples'))
  await kubectl('wait', 'oak,dcet', '--all', '--for=condition=Ready', '--timeout=30s')
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(
      ({ parentPath, name }) =>
        `${join(parentPath, name)}\n${readFileSync(join(parentPath, name), 'utf8')}`,
    )
