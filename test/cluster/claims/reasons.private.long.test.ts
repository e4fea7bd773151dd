/** @module-tag no-retry */
// Why a claim is not Ready, as kubectl shows it, and what ends it (contract 28.7). Its Secret: secrets.private.test.ts; its key:
// key-changes.private.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { objectClientOf } from '../../support/object-client.ts'
import { sumOf } from '../../support/metrics-page.ts'
import { ACCESS_KEYS, ACCESS_KEY_CLAIMS, API_VERSION } from '../../../src/api/names.ts'
import { userClientOf } from '../people/people-client.ts'
import {
  type ClaimNamespace,
  type StoredClaim,
  createClaimNamespace,
  declareClaim,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const settings = settingsOf(plane)
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
const delivery = await startDelivery(plane, ['--max-claims-per-namespace=2'])
afterAll(async () => void (await Promise.all([delivery.stop(), operator.stop()])))

let shop: ClaimNamespace
beforeAll(async () => {
  await settings.declare({})
  shop = await createClaimNamespace(plane)
  await shop.allow()
})

const readyOf = ({ status }: StoredClaim) => status.conditions?.find(({ type }) => type === 'Ready')
const isStalled = ({ status }: StoredClaim): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Stalled' && is === 'True') ?? false

/** The reason as `kubectl wait` waits for it. */
const waitFor = (name: string, reason: string): Promise<string> =>
  shop.kubectl(
    'wait',
    `akc/${name}`,
    `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=${reason}`,
    '--timeout=30s',
  )

test.each(['platform-system', 'platform-system-sign-in', 'kube-public'])(
  'NamespaceRefused: in namespace %s nothing is made, whoever asks (28.4)',
  async (namespace) => {
    const claims = objectClientOf<StoredClaim>(plane, ACCESS_KEY_CLAIMS, namespace)
    const claim = await claims.create({
      apiVersion: API_VERSION,
      kind: ACCESS_KEY_CLAIMS.kind,
      metadata: { name: 'mine', namespace },
      spec: {},
    })
    const refused = await claims.shown('mine', 'NamespaceRefused')
    expect(readyOf(refused)?.message).toBe(
      `Nothing is delivered into namespace ${namespace}, which belongs to the platform or to Kubernetes: make the claim in a namespace of your own.`,
    )
    expect(isStalled(refused)).toBe(true)
    expect(await shop.keys(claim)).toEqual([])
    await claims.remove('mine')
    await claims.gone('mine')
  },
)

test('NamespaceRefused: a name that begins with the platform namespace and - is refused, and no other (28.4)', async () => {
  const part = await createClaimNamespace(plane, 'platform-system-x')
  await part.allow()
  const claim = await part.apply('mine')
  await part.claims.shown('mine', 'NamespaceRefused')
  expect(await part.keys(claim)).toEqual([])
  const alike = await createClaimNamespace(plane, 'platform-systems')
  await alike.allow()
  await alike.delivered('mine')
})

test('TooManyClaims: the oldest count, and the next has its turn when one goes (28.8)', async () => {
  const few = await createClaimNamespace(plane)
  await few.allow()
  await few.delivered('one')
  await few.delivered('two')
  const claim = await few.apply('three')
  const refused = await few.claims.shown('three', 'TooManyClaims')
  expect(readyOf(refused)?.message).toContain(
    `Namespace ${few.name} has more than 2 claims, and this one is not among the oldest 2`,
  )
  expect(isStalled(refused)).toBe(false)
  expect(await few.keys(claim)).toEqual([])
  await few.kubectl('delete', 'akc', 'one')
  await few.claims.shown('three', 'Delivered')
})

test('a quota of claims works (28.8)', async () => {
  const few = await createClaimNamespace(plane)
  const hard = { 'count/accesskeyclaims.management.platform.sh': '1' }
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'claims' } }
  const path = `/api/v1/namespaces/${few.name}/resourcequotas`
  await plane.raw('POST', path, { ...quota, spec: { hard } })
  // The controller that counts is not among those that run here.
  await plane.raw('PATCH', `${path}/claims/status`, {
    status: { hard, used: { ...hard, 'count/accesskeyclaims.management.platform.sh': '0' } },
  })
  await few.apply('one')
  await expect(few.apply('two')).rejects.toThrow('exceeded quota: claims')
})

describe('GatewayUnknown (28.4)', () => {
  test('holds where the address is asked for, until the settings name it', async () => {
    await shop.apply('server', { secret: { data: { a: '$(SERVER)', b: '$(KEY)' } } })
    await waitFor('server', 'GatewayUnknown')
    const claim = await shop.read('server')
    expect(readyOf(claim)?.message).toContain('platformHost')
    expect(isStalled(claim)).toBe(false)
    expect(await shop.keys(claim)).toEqual([])
    await shop.delivered('other')
    await settings.declare({ platformHost: 'platform.example.com' })
    await shop.claims.shown('server', 'Delivered')
    expect((await shop.secret('server'))?.texts['a']).toBe(
      'https://platform.example.com/kubernetes/management',
    )
    await shop.kubectl('delete', 'akc', 'server', 'other')
  })
})

test('Suspended: from the first, until it is asked for (28.1)', async () => {
  const claim = await shop.apply('later', { suspend: true })
  await waitFor('later', 'Suspended')
  expect(isStalled(await shop.read('later'))).toBe(false)
  expect(await shop.keys(claim)).toEqual([])
  expect(await shop.secret('later')).toBeNull()
  await shop.apply('later', { suspend: false })
  await shop.kubectl('wait', '--for=condition=Ready', 'akc/later', '--timeout=20s')
  await shop.kubectl('delete', 'akc', 'later')
})

test('LifetimeTooShort: from the first, and nothing is made (28.5)', async () => {
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: 100 } })
  const claim = await shop.apply('short')
  await waitFor('short', 'LifetimeTooShort')
  expect(isStalled(await shop.read('short'))).toBe(true)
  expect(await shop.keys(claim)).toEqual([])
  await settings.declare({})
  await shop.claims.shown('short', 'Delivered')
  await shop.kubectl('delete', 'akc', 'short')
})

test('KeyNotReady: from the first, with the words of the key (28.7)', async () => {
  const users = userClientOf(plane)
  await users.create({ username: 'grace', disabled: true }, { name: 'grace' })
  await declareClaim(plane, shop, 'grace', { key: { user: 'grace' } })
  await waitFor('grace', 'KeyNotReady')
  expect(readyOf(await shop.read('grace'))?.message).toMatch(/^Access key claim-.*-grace-\w{8}: .+/)
  expect(await shop.secret('grace')).toBeNull()
  await users.patch('grace', { spec: { disabled: false } })
  await shop.claims.shown('grace', 'Delivered')
  await shop.kubectl('delete', 'akc', 'grace')
})

test('Terminating: while another finalizer holds the claim, its credential has ended (28.6)', async () => {
  const claim = await shop.delivered('held')
  await shop.claims.patch('held', {
    metadata: { finalizers: [...(claim.metadata.finalizers ?? []), 'example.com/hold'] },
  })
  await shop.kubectl('delete', 'akc', 'held', '--wait=false')
  await waitFor('held', 'Terminating')
  const held = await shop.read('held')
  expect(held.metadata.finalizers).toEqual(['example.com/hold'])
  expect((await shop.keys(claim)).filter(({ metadata }) => !metadata.deletionTimestamp)).toEqual([])
  await shop.claims.patch('held', { metadata: { finalizers: null } })
  await shop.claims.gone('held')
})

test('Pending: says why the API server refuses a key, and goes on once it does not (28.3, 28.7)', async () => {
  const api = '/apis/admissionregistration.k8s.io/v1'
  const metadata = { name: 'no-keys' }
  const rule = {
    apiGroups: [ACCESS_KEYS.group],
    apiVersions: ['v1'],
    resources: [ACCESS_KEYS.plural],
  }
  await plane.raw('POST', `${api}/validatingadmissionpolicies`, {
    metadata,
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE'] }] },
      validations: [{ expression: 'false', message: 'No keys on Fridays, says team red' }],
    },
  })
  const spec = { policyName: 'no-keys', validationActions: ['Deny'] }
  await plane.raw('POST', `${api}/validatingadmissionpolicybindings`, { metadata, spec })
  const create = ['create', '--dry-run=server', '-f', '-']
  const key = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, metadata, spec: { user: 'ada' } }
  await eventuallyPasses(
    'the policy holds',
    () =>
      expect(mustKubectl(plane, create, { input: JSON.stringify(key) })).rejects.toThrow(
        'says team red',
      ),
    { withinMs: 20_000 },
  )
  await shop.apply('refused')
  await waitFor('refused', 'Pending')
  const claim = await shop.read('refused')
  expect(readyOf(claim)?.message).toContain('says team red')
  await plane.raw('DELETE', `${api}/validatingadmissionpolicybindings/no-keys`)
  await plane.raw('DELETE', `${api}/validatingadmissionpolicies/no-keys`)
  await shop.claims.shown('refused', 'Delivered')
  await shop.kubectl('delete', 'akc', 'refused')
})

test('the metrics count claims by state (28.7)', async () => {
  const page = await delivery.metrics()
  const count = (state: string) => sumOf(page, 'platform_claims', `state="${state}"`)
  expect({
    delivered: count('delivered') > 0,
    refused: count('namespace_refused'),
    secret_taken: count('secret_taken'),
  }).toEqual({
    delivered: true,
    refused: 1,
    secret_taken: 0,
  })
})

test('Pending: says so when the manager does not run, and goes on once it does (28.3, 28.7)', async () => {
  await operator.stop()
  await shop.apply('waits')
  await waitFor('waits', 'Pending')
  const claim = await shop.read('waits')
  expect(readyOf(claim)?.message).toContain('see whether the manager runs')
  expect(await shop.keys(claim)).toHaveLength(1)
  expect(await shop.secret('waits')).toBeNull()
  await using _ = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  const done = await shop.claims.shown('waits', 'Delivered')
  expect(await shop.keys(done)).toHaveLength(1)
})
