// The Kubernetes client for Python through the gateway, as against the API server itself (contract 9.4).
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensurePythonClient } from '../../../tools/python-client/python-client.ts'
import { tether } from '../../../tools/tether.ts'
import { cleanEnv } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const { python, env } = await ensurePythonClient(console.log)
const front = await startTestGateway(await privateControlPlane())
const NAMESPACE = 'snake'
const SCRIPT = join(import.meta.dirname, 'client.py')

await front.plane.raw('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
await front.plane.raw(
  'POST',
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
  {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
  },
)

type Story = 'life' | 'apply' | 'keys' | 'follow' | 'refused'
/** What happened, and what there is to say of it. */
type Told = readonly [what: string, value: unknown]

interface Telling {
  /** Grows while the story goes on. */
  readonly told: readonly Told[]
  /** All of it, once it is over. */
  readonly whole: Promise<readonly Told[]>
}

/** Starts a story of client.py with that key. */
function tell({ kubeconfig }: UsableKey, story: Story): Telling {
  const child = spawn(python, [SCRIPT, kubeconfig, story], { env: cleanEnv(env) })
  tether(child)
  const told: Told[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    const lines = (rest + part).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) told.push(JSON.parse(line) as Told)
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (complaint += part))
  const whole = new Promise<readonly Told[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve(told) : reject(new Error(`${story} failed: ${complaint}`)),
    )
  })
  return { told, whole }
}

const NOT_FOUND = 'platform access key not found. Please login again'

describe('the Python client works through the gateway (9.4)', () => {
  test('create, read, list in pages, patch, replace and delete', async () => {
    expect(await tell(await front.key(), 'life').whole).toEqual([
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

  test('discovery and server-side apply, with its conflicts', async () => {
    const told = await tell(await front.key(), 'apply').whole
    expect(told.slice(0, 4)).toEqual([
      ['applied', { a: '1' }],
      ['managers', ['python']],
      ['applied', { a: '2' }],
      ['managers', ['python']],
    ])
    const conflict = expect.stringContaining('conflict with "python": .data.a')
    expect(told[4]).toEqual(['applied by another', [409, conflict]])
    expect(told[5]).toEqual(['settings', ['platform-manager-config']])
  })

  test('a key of one’s own, which only its creation shows (12.2, 12.4)', async () => {
    const person = await front.key({ type: 'Login' })
    expect(await tell(person, 'keys').whole).toEqual([
      ['made', ['ada', 54]],
      ['read', ['of the Python client', false]],
      ['listed', true],
      ['changed', 'changed'],
      ['deleted', null],
    ])
  })

  test('a watch tells what happens, and ends with its key (13.4)', async () => {
    const key = await front.key()
    const { told, whole } = tell(key, 'follow')
    const hear = (count: number) =>
      eventually('it tells', () => told.length >= count || undefined, SOON)
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
    await hear(1)
    await front.plane.raw('POST', path, { metadata: { name: 'followed' } })
    await front.plane.raw('PATCH', `${path}/followed`, { data: { a: '1' } })
    await front.plane.raw('DELETE', `${path}/followed`)
    await hear(4)
    await front.keys.patch(key.object, { spec: { disabled: true } })
    expect(await whole).toEqual([
      ['listed', null],
      ['ADDED', 'followed'],
      ['MODIFIED', 'followed'],
      ['DELETED', 'followed'],
      ['ended', [401, `Unauthorized: ${NOT_FOUND}`]],
    ])
  })
})

describe('a refusal says why', () => {
  test('what the scope does not grant is a 403 with what it lacks (11.1)', async () => {
    const rule = { verbs: ['get', 'list'], resources: [{ resources: ['configmaps'] }] }
    const scope = { rules: [{ ...rule, namespaces: [NAMESPACE] }] }
    const lacks = (asked: string): readonly unknown[] => [
      403,
      expect.stringContaining(`the scope of the access key does not grant ${asked}`),
    ]
    expect(await tell(await front.key({ scope }), 'refused').whole).toEqual([
      ['configmaps', 'passed'],
      ['secrets', lacks(`"list" on "secrets" in namespace "${NAMESPACE}"`)],
      ['create', lacks(`"create" on "configmaps" in namespace "${NAMESPACE}"`)],
      ['elsewhere', lacks('"get" on "configmaps" "kube-root-ca.crt" in namespace "default"')],
    ])
  })

  test.each([
    { name: 'disabled', spec: {}, message: NOT_FOUND },
    {
      name: 'expired',
      spec: { ttl: 10 },
      message: 'platform access key expired. Please login again',
    },
  ])('a key that is $name is a 401 that says so (10.2)', async ({ name, spec, message }) => {
    const key = await front.key(spec)
    if (name === 'disabled') await front.keys.patch(key.object, { spec: { disabled: true } })
    const isOver = async () => (await front.ask(key.token, '/version')).code === 401 || undefined
    await eventually('the key is over', isOver, SOON)
    const told = await tell(key, 'refused').whole
    expect(told.map(([, value]) => value)).toEqual(told.map(() => [401, message]))
    expect(told).toHaveLength(4)
  })
})
