// The Kubernetes client for Python works through the gateway as it does against the API server (contract 9.4).
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensurePythonClient } from '../../../tools/python-client/python-client.ts'
import { tether } from '../../../tools/tether.ts'
import { cleanEnv } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { startNode, runPod } from '../../support/node.ts'
import { LOCAL_TARGETS, connectOwnTargets } from './own-targets.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const { python, env } = await ensurePythonClient(console.log)
const setup = await startTestGateway(await privateControlPlane(), 1, LOCAL_TARGETS)
const node = await startNode(setup.plane)
const targets = await connectOwnTargets(setup)
const NAMESPACE = 'snake'
const SCRIPT = join(import.meta.dirname, 'python-client.py')

await setup.plane.raw('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
await setup.plane.raw(
  'POST',
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
  {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
  },
)

type Scenario = 'lifecycle' | 'apply' | 'keys' | 'watch' | 'execute' | 'refused'
/** One printed line: the step and its result. */
type Step = readonly [what: string, value: unknown]

interface ClientRun {
  /** The steps so far; grows while the client runs. */
  readonly steps: readonly Step[]
  /** All steps, when the client has ended. */
  readonly finished: Promise<readonly Step[]>
}

/** Runs a scenario of python-client.py with that key. */
function runClient({ kubeconfig }: Pick<UsableKey, 'kubeconfig'>, scenario: Scenario): ClientRun {
  const child = spawn(python, [SCRIPT, kubeconfig, scenario], { env: cleanEnv(env) })
  tether(child)
  const steps: Step[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    const lines = (rest + part).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) steps.push(JSON.parse(line) as Step)
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part))
  const finished = new Promise<readonly Step[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve(steps) : reject(new Error(`${scenario} failed: ${stderr}`)),
    )
  })
  return { steps, finished }
}

const NOT_FOUND = 'platform access key not found. Please login again'

describe('the Python client works through the gateway (9.4)', () => {
  test('creates, reads, lists in pages, patches, replaces and deletes', async () => {
    expect(await runClient(await setup.key(), 'lifecycle').finished).toEqual([
      ['user', 'ada'],
      ['version', '1'],
      ['created', { a: '1' }],
      ['read', { a: '1' }],
      ['page', ['life']],
      ['next page', ['other']],
      ['merged', { a: '1', b: '2' }],
      ['patched', { b: '2' }],
      ['replaced', { c: '3' }],
      ['deleted', 'Success'],
      ['read again', [404, 'configmaps "life" not found']],
    ])
  })

  test('applies server-side by discovery, and gets conflicts', async () => {
    const steps = await runClient(await setup.key(), 'apply').finished
    expect(steps.slice(0, 4)).toEqual([
      ['applied', { a: '1' }],
      ['managers', ['python']],
      ['applied', { a: '2' }],
      ['managers', ['python']],
    ])
    const conflict = expect.stringContaining('conflict with "python": .data.a')
    expect(steps[4]).toEqual(['applied by another', [409, conflict]])
    expect(steps[5]).toEqual(['settings', ['platform-manager-config']])
  })

  test('creates an access key, which only the answer to the create shows (12.2, 12.4)', async () => {
    const person = await setup.key({ type: 'Login' })
    expect(await runClient(person, 'keys').finished).toEqual([
      ['made', ['ada', 54]],
      ['read', ['of the Python client', false]],
      ['listed', true],
      ['changed', 'changed'],
      ['deleted', null],
    ])
  })

  test('gets watch events, and a 401 event when its key ends (13.4)', async () => {
    const key = await setup.key()
    const { steps, finished } = runClient(key, 'watch')
    const untilSteps = (count: number) =>
      eventually(
        `the client has done ${count} steps`,
        () => steps.length >= count || undefined,
        SOON,
      )
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
    await untilSteps(1)
    await setup.plane.raw('POST', path, { metadata: { name: 'followed' } })
    await setup.plane.raw('PATCH', `${path}/followed`, { data: { a: '1' } })
    await setup.plane.raw('DELETE', `${path}/followed`)
    await untilSteps(4)
    await setup.keys.patch(key.object, { spec: { disabled: true } })
    expect(await finished).toEqual([
      ['listed', null],
      ['ADDED', 'followed'],
      ['MODIFIED', 'followed'],
      ['DELETED', 'followed'],
      ['ended', [401, `Unauthorized: ${NOT_FOUND}`]],
    ])
  })
})

test('the Python client runs a command in a pod of a connected cluster (9.4, 13.2)', async () => {
  await runPod(setup.plane, node, { name: 'web', namespace: NAMESPACE })
  const kubeconfig = targets.kubeconfigFor(await setup.key(), '/kubernetes/cluster/east')
  expect(await runClient({ kubeconfig }, 'execute').finished).toEqual([
    ['error', 'told'],
    ['output', '<one>'],
    ['output', '<bye>'],
    ['code', 3],
    ['missing', expect.stringMatching(/^Handshake status 404 .*pods \\?"none\\?" not found/s)],
  ])
})

describe('the Python client gets the reason of a refusal', () => {
  test('a request outside the scope is a 403 that names the missing grant (11.1)', async () => {
    const rule = { verbs: ['get', 'list'], resources: [{ resources: ['configmaps'] }] }
    const scope = { rules: [{ ...rule, namespaces: [NAMESPACE] }] }
    const denied = (asked: string): readonly unknown[] => [
      403,
      expect.stringContaining(`the scope does not grant ${asked}`),
    ]
    expect(await runClient(await setup.key({ scope }), 'refused').finished).toEqual([
      ['configmaps', 'passed'],
      ['secrets', denied(`"list" on "secrets" in namespace "${NAMESPACE}"`)],
      ['create', denied(`"create" on "configmaps" in namespace "${NAMESPACE}"`)],
      ['elsewhere', denied('"get" on "configmaps" "kube-root-ca.crt" in namespace "default"')],
    ])
  })

  test.each([
    { name: 'disabled', spec: {}, message: NOT_FOUND },
    {
      name: 'expired',
      spec: { ttl: 10 },
      message: 'platform access key expired. Please login again',
    },
  ])(
    'a request with a key that is $name is a 401 with that message (10.2)',
    async ({ name, spec, message }) => {
      const key = await setup.key(spec)
      if (name === 'disabled') await setup.keys.patch(key.object, { spec: { disabled: true } })
      const isRefused = async () =>
        (await setup.ask(key.token, '/version')).code === 401 || undefined
      await eventually('the key is refused', isRefused, SOON)
      const steps = await runClient(key, 'refused').finished
      expect(steps.map(([, value]) => value)).toEqual(steps.map(() => [401, message]))
      expect(steps).toHaveLength(4)
    },
  )
})
