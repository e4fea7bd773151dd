/** @module-tag no-retry */
// No value and no token of the secret store is where it must not be: in no log, metric, Event, status or ConfigMap, and in etcd only in
// the Secrets that hold them; also where the store, the API server or a policy refuses (contract 36.5, 38).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Canary, findCanaries, plantCanary } from '../../support/canary.ts'
import { startDelivery } from '../../support/claims/delivery.ts'
import { outputOf } from '../../support/claims/plaintext-search.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { etcdValues } from '../../support/etcd-values.ts'
import { eventually } from '../../support/eventually.ts'
import {
  PLATFORM_TOKEN,
  type Project,
  type StorePlatform,
  createProject,
  startStorePlatform,
  storeProgram,
} from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
let manager: OwnProcess
let delivery: OwnProcess
let platform: StorePlatform
let web: Project

const canaries: Canary[] = []
function planted(label: string): string {
  const canary = plantCanary(label)
  canaries.push(canary)
  return canary.secret
}
const POLICY = 'quotes-the-data'

/** Refuses Secrets of one name, and quotes their data. */
async function declareQuotingPolicy(namespace: string): Promise<void> {
  const group = '/apis/admissionregistration.k8s.io/v1'
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['UPDATE'],
    resources: ['secrets'],
    resourceNames: ['refused'],
  }
  const policy = {
    metadata: { name: POLICY },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [
        {
          expression: '!has(object.data) || !("key" in object.data)',
          messageExpression: 'string(object.data["key"])',
        },
      ],
    },
  }
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const binding = {
    metadata: { name: POLICY },
    spec: {
      policyName: POLICY,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector },
    },
  }
  for (const [kind, object] of [
    ['validatingadmissionpolicies', policy],
    ['validatingadmissionpolicybindings', binding],
  ] as const) {
    const { code, body } = await plane.raw('POST', `${group}/${kind}`, object)
    if (code !== 201) throw new Error(JSON.stringify(body))
  }
}

/** Waits until the policy is enforced: the API server takes a moment. */
async function untilRefused(): Promise<void> {
  const path = `/api/v1/namespaces/${web.namespace}/secrets/refused`
  const patch = { stringData: { key: 'x' } }
  const options = { contentType: 'application/merge-patch+json' }
  await eventually(
    'the policy is in force',
    async () => {
      const { code } = await plane.raw('PATCH', `${path}?dryRun=All`, patch, options)
      return code === 422 || undefined
    },
    { withinMs: 60_000 },
  )
}

beforeAll(async () => {
  manager = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: ['--log-level=debug'],
  })
  platform = await startStorePlatform(plane, program)
  web = await createProject(plane)
  delivery = await startDelivery(plane, {
    flags: [`--secret-store-ca-file=${platform.store.caFile}`, '--log-level=debug'],
  })
  await platform.says('Synced')
})
afterAll(async () => {
  await Promise.all([manager?.stop(), delivery?.stop()])
  await platform?.store[Symbol.asyncDispose]()
})

/** Gives the platform another token, which is a canary. */
async function renewToken(label: string): Promise<string> {
  const token = await platform.store.makeToken(PLATFORM_TOKEN)
  // Tokens begin alike.
  canaries.push({ label, secret: token.slice(token.lastIndexOf('.') + 1) })
  await platform.setToken(token)
  return token
}

test('a pull, a push and the token reach their places (36.3, 36.4)', async () => {
  const { store } = platform
  const [pulled, nested, pushed] = ['pulled', 'in other JSON', 'pushed'].map(planted)
  await store.put(`${web.name}/pulled`, { key: pulled, json: { inner: [nested] } })
  await web.create('pulled', { direction: 'Pull' })
  await web.create('pushed', { direction: 'Push', data: { key: pushed ?? '' } })
  await web.has('pulled', { key: pulled ?? '', json: JSON.stringify({ inner: [nested] }) })
  await eventually(
    'it is pushed',
    async () => (await store.get(`${web.name}/pushed`))?.data?.['key'] === pushed || undefined,
    { withinMs: 60_000 },
  )
})

test('a refusal quotes no value (36.3, 36.4)', async () => {
  const { store } = platform
  await web.create('refused', { direction: 'Pull' })
  await declareQuotingPolicy(web.namespace)
  await untilRefused()
  await store.put(`${web.name}/refused`, { key: planted('refused by a policy') })
  expect(await web.event('refused', 'StoreContentRefused')).toContain('422')

  await store.put(`${web.name}/names`, {
    [`not a name ${planted('a bad name')}`]: planted('its value'),
  })
  await web.create('names', { direction: 'Pull' })
  await web.event('names', 'StoreContentRefused')

  const bytes = Buffer.concat([Buffer.from(planted('no UTF-8')), Buffer.from([0xff, 0xfe])])
  await web.create('binary', { direction: 'Push', data: { key: bytes } })
  await web.event('binary', 'StoreContentRefused')

  await store.put(`${web.name}/foreign`, { key: planted('of others') })
  await web.create('foreign', { direction: 'Push', data: { key: planted('in a conflict') } })
  await web.event('foreign', 'StoreConflict')

  const data = { username: planted('of a wrong type'), password: planted('of a wrong type, too') }
  await web.create('typed', { direction: 'Push', type: 'management.platform.sh/other', data })
  await web.event('typed', 'StoreContentRefused')
})

test('a token that is refused, and a store that fails, are told without it (36.5)', async () => {
  const { store } = platform
  const token = await renewToken('the token')
  await store.put(`${web.name}/pulled`, { key: planted('pulled with another token') })
  await eventually(
    'the token is in use',
    async () => {
      await store.expireToken(token)
      return (await platform.says('Denied')).reason
    },
    { withinMs: 60_000 },
  )
  await renewToken('the token after it')
  await platform.says('Partly')
  await store.fault({ path: '/data/', every: 1, code: 500 })
  await web.change('pushed', { stringData: { key: planted('pushed into a fault') } })
  await eventually(
    'it is tried',
    async () =>
      (await store.requests()).some(({ path, code }) => path.endsWith('/pushed') && code === 500) ||
      undefined,
    { withinMs: 60_000 },
  )
  await store.fault({})
  await platform.says('Partly')
})

/** The only places for values and tokens. */
const isItsPlace = (path: string): boolean =>
  path.startsWith(`/registry/secrets/${web.namespace}/`) ||
  /^\/registry\/secrets\/platform-system\/(?:store-token|platform-settings-delivery)$/.test(path)

test('none of them is anywhere else (36.5, 38)', async () => {
  const outputs = { delivery: await outputOf(delivery), manager: await outputOf(manager) }
  expect(outputs.delivery).toContain('secret not in step')
  const stored = [...(await etcdValues(plane, '/registry/'))]
  const elsewhere = stored
    .filter(([path]) => !isItsPlace(path) && !isStatic(path))
    .map(([path, value]) => [path, value.toString('latin1')] as const)
  expect(elsewhere.some(([path]) => path.includes('/events/'))).toBe(true)
  expect(elsewhere.some(([path]) => path.endsWith('/platform-secret-store-status'))).toBe(true)
  expect(findCanaries({ ...outputs, ...Object.fromEntries(elsewhere) }, canaries)).toEqual([])
})

/** Written before any test. */
const isStatic = (path: string): boolean =>
  /^\/registry\/(?:apiextensions\.k8s\.io|apiregistration|clusterrole|validatingadmission|prioritylevel|flowschemas|mutatingadmission)/.test(
    path,
  )
