// Whom a claim may name, and who may write the label of claims, in every way of writing (contract 28.2, 28.3). No operator
// runs.
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  ACCESS_KEY_CLAIMS,
  API_VERSION,
  REVOKE_FINALIZER,
  TOKENS,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { CLAIM_CALLERS, claimLabelRows, claimPlaceRows, claimRows } from './claim-cases.ts'
import { ownedBy } from './owner-cases.ts'
import { WRITES, onPlatformKinds, rbacUsers } from './rbac-users.ts'
import { FINALIZER_CALLERS, finalizerRows } from './reserved-cases.ts'
import { CHANGES, CREATIONS, sender, tableTester } from './write-methods.ts'

const plane = await privateControlPlane()
const send = sender(plane)
const kubeconfigOf = await rbacUsers(plane, {
  ...CLAIM_CALLERS,
  ...FINALIZER_CALLERS,
  delegate: [WRITES, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
  deleter: [WRITES, onPlatformKinds(['delete'], ['accesskeyclaims'])],
  claimStatusWriter: [WRITES, onPlatformKinds(['update', 'patch'], ['accesskeyclaims/status'])],
})
const eachWay = tableTester(plane, kubeconfigOf)
const ONE_WAY_EACH = { oneInQuick: true } as const
const NAMESPACE = 'default'

describe('whom a claim acts as (28.2, K1, K2)', () => {
  eachWay(ACCESS_KEY_CLAIMS, claimRows, ONE_WAY_EACH)
  eachWay(ACCESS_KEY_CLAIMS, claimPlaceRows, ONE_WAY_EACH)

  test.each(CREATIONS)('its own subject may be spelled out by %s', async (way) => {
    const named = uniqueName('own')
    const to = { spec: { key: { subject: `claim:${NAMESPACE}:${named}`, ttl: 600 } } }
    const written = await send(way, { ...OF_WRITER, named, to })
    expect(written).toMatchObject({ code: 201, message: '' })
  })

  test.each(CHANGES)('a claim with its own subject may be changed by %s', async (way) => {
    const named = uniqueName('own')
    const key = { subject: `claim:${NAMESPACE}:${named}` }
    const [from, to] = [{ spec: { key } }, { spec: { key: { ...key, ttl: 600 } } }]
    const written = await send(way, { ...OF_WRITER, named, from, to })
    expect(written).toMatchObject({ code: 200, message: '' })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'of another namespace', subject: (name: string) => `claim:kube-public:${name}` },
    { name: 'with more behind it', subject: (name: string) => `claim:default:${name}x` },
    { name: 'in other letters', subject: (name: string) => `CLAIM:default:${name}` },
    { name: 'without its name', subject: () => 'claim:default:' },
  ])('its own subject $name is another subject', async ({ subject }) => {
    const named = uniqueName('own')
    const to = { spec: { key: { subject: subject(named) } } }
    const says = `naming ${subject(named)} needs the verb impersonate on users/${subject(named)}, which claimWriter does not have; leave it out, and the key acts as claim:default:${named}, or have that granted`
    expect(await send('create', { ...OF_WRITER, named, to })).toEqual({
      code: 403,
      message: expect.stringContaining(says),
      stored: null,
    })
  })

  test('the name that the API server makes is in its own subject', async () => {
    const object = claim({ generateName: 'made-' }, { key: { user: 'ada' } })
    const by = { kubeconfig: kubeconfigOf('claimWriter') }
    const path = pathOf(ACCESS_KEY_CLAIMS, { namespace: NAMESPACE })
    const { code, body } = await plane.raw<{ readonly message: string }>('POST', path, object, by)
    expect(code).toBe(403)
    expect(body.message).toMatch(/the key acts as claim:default:made-\w+, or have that granted/)
  })

  test.each(CHANGES.filter((way) => way !== 'kubectl apply'))(
    'a write to status by %s changes nothing else, and adds no name',
    async (way) => {
      const from = { metadata: { finalizers: [REVOKE_FINALIZER] }, spec: { key: { ttl: 600 } } }
      const to = { metadata: {}, spec: { key: { user: 'ada' } } }
      const kubeconfig = kubeconfigOf('claimStatusWriter')
      const write = { resource: ACCESS_KEY_CLAIMS, kubeconfig, from, to } as const
      const written = await send(way, { ...write, subresource: 'status' })
      expect(written).toEqual({ code: 200, message: '', stored: from })
    },
  )

  test('a claim with names is deleted, and its finalizer set, by whoever may write it', async () => {
    const { metadata } = await existing({ key: { user: 'ada', groups: ['dev'] } })
    const path = pathOf(ACCESS_KEY_CLAIMS, metadata)
    const by = { kubeconfig: kubeconfigOf('claimWriter') }
    const finalizers = { metadata: { finalizers: [REVOKE_FINALIZER] } }
    expect((await plane.raw('PATCH', path, finalizers, by)).code).toBe(200)
    expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
    const without = { metadata: { finalizers: null } }
    expect((await plane.raw('PATCH', path, without, by)).code).toBe(403)
    expect((await plane.raw('PATCH', path, without)).code).toBe(200)
    expect((await plane.raw('GET', path)).code).toBe(404)
  })
})

describe.each([ACCESS_KEYS, TOKENS])('the label of claims on a $kind (28.3, 37)', (resource) => {
  eachWay(resource, claimLabelRows('writer', 'delegate'), ONE_WAY_EACH)
})

describe('the finalizer of a claim (5.5, 28.6)', () => {
  const rows = finalizerRows('accesskeyclaims', 'claimFinisher', 'keyFinisher')
  eachWay(ACCESS_KEY_CLAIMS, rows, ONE_WAY_EACH)

  test('comes off by a right in its namespace', async () => {
    const { metadata } = await existing({}, { finalizers: [REVOKE_FINALIZER] })
    const path = pathOf(ACCESS_KEY_CLAIMS, metadata)
    const without = { metadata: { finalizers: null } }
    const by = { kubeconfig: await namespaceOwner() }
    expect((await plane.raw('PATCH', path, without, by)).code).toBe(200)
  })
})

describe('owners of a claim (5.5)', () => {
  test.each([
    {
      by: 'writer',
      code: 422,
      says: /blockOwnerDeletion needs the verb delete on accesskeyclaims\/claim-\S+, which writer /,
    },
    { by: 'deleter', code: 201, says: /^$/ },
  ] as const)(
    '$by gets $code to a claim that blocks the deletion of a claim',
    async ({ by, code, says }) => {
      const owner = ownedBy(await existing({}), { blockOwnerDeletion: true })
      const to = { metadata: { ownerReferences: [owner] }, spec: {} }
      const written = await send('create', { ...OF_WRITER, kubeconfig: kubeconfigOf(by), to })
      expect(written.code).toBe(code)
      expect(written.message).toMatch(says)
    },
  )

  test('a right to delete in its namespace is enough to block the deletion of a claim', async () => {
    const owner = ownedBy(await existing({}), { blockOwnerDeletion: true })
    const to = { metadata: { ownerReferences: [owner] }, spec: {} }
    const kubeconfig = await namespaceOwner()
    expect((await send('create', { ...OF_WRITER, kubeconfig, to })).code).toBe(201)
  })

  test('an access key as its owner needs the verb use', async () => {
    const object = {
      apiVersion: API_VERSION,
      kind: ACCESS_KEYS.kind,
      metadata: { name: uniqueName('key') },
      spec: {},
    }
    const key = await plane.admin.create(ACCESS_KEYS, object, 'test')
    const to = { metadata: { ownerReferences: [ownedBy(key)] }, spec: {} }
    const message: string = expect.stringContaining(
      'naming an access key as owner needs the verb use',
    )
    const written = await send('create', { ...OF_WRITER, to })
    expect(written).toEqual({ code: 403, message, stored: null })
  })
})

/** A new user with the rights on claims and their finalizers in the namespace of the claims, and there only. */
async function namespaceOwner(): Promise<string> {
  const [user, namespace] = [uniqueName('owner'), NAMESPACE]
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: user, namespace } }
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const rules = [
    onPlatformKinds(['get', 'create', 'patch', 'delete'], ['accesskeyclaims']),
    onPlatformKinds(['update'], ['accesskeyclaims/finalizers']),
  ]
  await plane.raw('POST', `${path}/roles`, { ...rbac, kind: 'Role', rules })
  const apiGroup = 'rbac.authorization.k8s.io'
  const roleRef = { apiGroup, kind: 'Role', name: user }
  const subjects = [{ apiGroup, kind: 'User', name: user }]
  const binding = { ...rbac, kind: 'RoleBinding', roleRef, subjects }
  expect((await plane.raw('POST', `${path}/rolebindings`, binding)).code).toBe(201)
  const kubeconfig = await plane.clientKubeconfig({ name: user, user, groups: [] })
  const claims = pathOf(ACCESS_KEY_CLAIMS, { namespace, name: 'none' })
  // Not found: RBAC lets it.
  const isInEffect = async () =>
    (await plane.raw('GET', claims, undefined, { kubeconfig })).code === 404 || undefined
  await eventually('the RoleBinding is in effect', isInEffect, { withinMs: 20_000 })
  return kubeconfig
}

const OF_WRITER = {
  resource: ACCESS_KEY_CLAIMS,
  kubeconfig: kubeconfigOf('claimWriter'),
} as const

function claim(metadata: object, spec: object) {
  const placed = { namespace: NAMESPACE, ...metadata }
  return { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, metadata: placed, spec }
}

async function existing(spec: object, metadata: object = {}): Promise<KubeObject> {
  const object = claim({ name: uniqueName('claim'), ...metadata }, spec)
  return plane.admin.create(ACCESS_KEY_CLAIMS, object, 'test')
}
