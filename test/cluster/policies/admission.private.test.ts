// Which writes the policies refuse for which callers, in every way of writing (contract 5.5). No operator runs.
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIGS,
  REVOKE_FINALIZER,
  type Resource,
  TEAMS,
  TOKENS,
  USERS,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { LAST_APPLIED } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { IDENTITY_CALLERS, MAX_GROUPS, identityRows, placeRows } from './identity-cases.ts'
import { OWNER_CALLERS, blockRows, ownedBy, ownerRows } from './owner-cases.ts'
import { WRITES, rbacUsers, onPlatformKinds } from './rbac-users.ts'
import {
  ADVICE,
  DIGEST,
  FINALIZER_CALLERS,
  KEY,
  LAST_APPLIED_CALLERS,
  finalizerRows,
  lastAppliedRows,
} from './reserved-cases.ts'
import {
  CHANGES,
  type Manifest,
  type Way,
  type Written,
  sender,
  tableTester,
} from './write-methods.ts'

const plane = await privateControlPlane()
const send = sender(plane)

/** By user name: `by` in the rows. */
const grants = {
  ...IDENTITY_CALLERS,
  ...OWNER_CALLERS,
  ...FINALIZER_CALLERS,
  ...LAST_APPLIED_CALLERS,
  statusWriter: [WRITES, onPlatformKinds(['update', 'patch'], ['ownedaccesskeys/status'])],
}
type Caller = keyof typeof grants
const kubeconfigOf = await rbacUsers(plane, grants)
const eachWay = tableTester(plane, kubeconfigOf)

const owners = {
  one: await existing(ACCESS_KEYS, 'one'),
  two: await existing(ACCESS_KEYS, 'two'),
  three: await existing(ACCESS_KEYS, 'three'),
  token: await existing(TOKENS, 'one'),
  config: await existing(CONFIGS, 'one'),
  user: await existing(USERS, 'one'),
  team: await existing(TEAMS, 'one'),
  role: await view(),
}

describe('the identity of a key (5.5)', () => {
  eachWay(ACCESS_KEYS, identityRows)

  test.each(placeRows)(
    'needs the right to impersonate the group at index $place',
    async ({ groups }) => {
      expect(await makes('impersonator', groups)).toEqual({
        code: 403,
        message: expect.stringContaining('spec.groups: naming group root needs'),
        stored: null,
      })
    },
  )

  test('accepts 16 new groups in one request and rejects 17', async () => {
    expect((await makes('impersonator', MAX_GROUPS)).code).toBe(201)
    expect(await makes('impersonator', [...MAX_GROUPS, 'dev'])).toEqual({
      code: 422,
      message: expect.stringContaining('17 groups are new; add at most 16 in one request'),
      stored: null,
    })
  })
})

describe.each([ACCESS_KEYS, TOKENS, CONFIGS])('owners of a $kind (5.5)', (resource) => {
  eachWay(resource, ownerRows(owners, resource))
  eachWay(resource, blockRows(owners))
})

// To create one takes more, by another policy.
describe.each([USERS, TEAMS])('owners of a $kind (5.5, 24.5)', (resource) => {
  const changes = [...ownerRows(owners, resource), ...blockRows(owners)].filter(({ from }) => from)
  eachWay(resource, changes, { oneInQuick: true })
})

describe.each([CONFIGS, USERS, TEAMS])('the finalizer of a $kind (5.5, 24.5, E4)', (resource) => {
  eachWay(resource, finalizerRows(resource.plural, 'peopleFinisher', 'keyFinisher'), {
    oneInQuick: true,
  })
})

describe('the finalizer of a key (5.1, 5.5)', () => {
  eachWay(ACCESS_KEYS, finalizerRows('ownedaccesskeys', 'keyFinisher', 'tokenFinisher'))
})

describe('the finalizer of a token (5.1, 5.5)', () => {
  eachWay(TOKENS, finalizerRows('directclusterendpointtokens', 'tokenFinisher', 'keyFinisher'))
})

describe('the annotation of kubectl apply on a key (3.5, 5.5)', () => {
  const notKubectlApply = (way: Way) => way !== 'kubectl apply'
  eachWay(ACCESS_KEYS, lastAppliedRows, { isTested: notKubectlApply })

  test('is checked up to the largest size of annotations', async () => {
    const long = 'k'.repeat(256)
    const filled = (end: string) => ({
      metadata: { annotations: { [LAST_APPLIED]: `${long.slice(1)}.`.repeat(1022) + end } },
      spec: { key: long },
    })
    const make = (to: Manifest) =>
      send('create', { resource: ACCESS_KEYS, kubeconfig: kubeconfigOf('writer'), to })
    expect((await make(filled(''))).code).toBe(201)
    expect(await make(filled(long))).toMatchObject({
      code: 422,
      message: expect.stringContaining(ADVICE),
    })
  })
})

describe('kubectl with a manifest that has spec.key in clear (3.5, 5.5)', () => {
  test.each(['apply', 'create --save-config'])('%s is rejected with advice', async (command) => {
    const name = uniqueName('clear')
    const { code, stderr } = await kubectl(command, name, { key: KEY })
    expect(code).toBe(1)
    expect(stderr).toContain(ADVICE)
    expect(stderr).not.toContain(KEY)
    expect(await plane.admin.get(ACCESS_KEYS, { name })).toBeNull()
  })

  test('apply without the key succeeds, as the advice says', async () => {
    expect(await kubectl('apply', uniqueName('clear'), {})).toMatchObject({ code: 0 })
  })

  test('apply with its digest succeeds without a user, or with the right to impersonate the user, as the advice says', async () => {
    const digest = { key: DIGEST }
    expect(await kubectl('apply', uniqueName('clear'), digest)).toMatchObject({ code: 0 })
    const ofBob = { ...digest, user: 'bob' }
    expect(await kubectl('apply', uniqueName('clear'), ofBob)).toMatchObject({ code: 1 })
    const by = 'impersonator'
    expect(await kubectl('apply', uniqueName('clear'), ofBob, by)).toMatchObject({ code: 0 })
  })

  test('server-side apply succeeds once the annotation is removed, as the advice says', async () => {
    const name = uniqueName('clear')
    const onServer = 'apply --server-side'
    expect(await kubectl('create', name, { key: KEY })).toMatchObject({ code: 0 })
    expect(await kubectl('apply', name, { ttl: 60 })).toMatchObject({ code: 0 })
    expect((await kubectl(onServer, name, { key: KEY })).stderr).toContain(ADVICE)
    const [kubeconfig, removed] = [kubeconfigOf('writer'), `${LAST_APPLIED}-`]
    await plane.kubectl(['annotate', 'oak', name, removed], { kubeconfig })
    expect(await kubectl(onServer, name, { key: KEY })).toMatchObject({ code: 0, stderr: '' })
    const stored = await plane.admin.get(ACCESS_KEYS, { name })
    expect(stored).toMatchObject({ spec: { key: KEY } })
    expect(stored?.metadata.annotations).toBeUndefined()
  })

  test('apply rejects an object as read by get, and accepts it without the key (3.1)', async () => {
    const name = uniqueName('clear')
    await kubectl('apply --server-side', name, { key: KEY, ttl: 60 })
    const { stdout } = await plane.kubectl(['get', 'oak', name, '-o', 'yaml'])
    const kubeconfig = kubeconfigOf('writer')
    const apply = (input: string) => plane.kubectl(['apply', '-f', '-'], { input, kubeconfig })
    expect((await apply(stdout)).stderr).toContain(ADVICE)
    expect(await apply(stdout.replace(/^ +key: .*\n/m, ''))).toMatchObject({ code: 0 })
    const stored = await plane.admin.get(ACCESS_KEYS, { name })
    expect(stored).toMatchObject({ spec: { key: KEY, ttl: 60 } })
  })

  function kubectl(command: string, name: string, spec: object, by: Caller = 'writer') {
    const { kind } = ACCESS_KEYS
    const input = JSON.stringify({ apiVersion: API_VERSION, kind, metadata: { name }, spec })
    const kubeconfig = kubeconfigOf(by)
    return plane.kubectl([...command.split(' '), '-f', '-'], { input, kubeconfig })
  }
})

describe('a write to status (5.5)', () => {
  const onStatus = CHANGES.filter((way) => way !== 'kubectl apply')

  test.each(onStatus)('changes none of the protected fields by %s', async (way) => {
    const from = { metadata: { finalizers: [REVOKE_FINALIZER] }, spec: { user: 'bob' } }
    const to = {
      metadata: {
        ownerReferences: [ownedBy(owners.one, { blockOwnerDeletion: true })],
        annotations: { [LAST_APPLIED]: KEY },
      },
      spec: { team: 'ops', groups: ['dev'], key: KEY },
    }
    const kubeconfig = kubeconfigOf('statusWriter')
    const write = { resource: ACCESS_KEYS, kubeconfig, from, to, subresource: 'status' } as const
    expect(await send(way, write)).toEqual({ code: 200, message: '', stored: from })
  })
})

/** Creates a key in these groups. */
function makes(by: Caller, groups: readonly string[]): Promise<Written> {
  const write = { resource: ACCESS_KEYS, kubeconfig: kubeconfigOf(by), to: { spec: { groups } } }
  return send('create', write)
}

async function existing(resource: Resource, name: string): Promise<KubeObject> {
  const object = { apiVersion: API_VERSION, kind: resource.kind, metadata: { name }, spec: {} }
  return plane.admin.create(resource, object, 'test')
}

async function view(): Promise<KubeObject> {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
  return (await plane.raw<KubeObject>('GET', path)).body
}
