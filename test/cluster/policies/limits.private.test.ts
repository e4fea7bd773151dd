// What RBAC writes on keys alone do not allow (contract 5.5; threats X10): to lift limits of other users' keys, to set spec.key of
// an object without one, to use the digest of another user, to set the label made-with. No operator runs.
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { sampled } from '../../support/tier.ts'
import { IDENTITY_CALLERS, digestPlaceRows, digestRows } from './identity-cases.ts'
import { limitPlaceRows, limitRows } from './limit-cases.ts'
import { rbacUsers, onPlatformKinds } from './rbac-users.ts'
import { DIGEST, KEY, RESERVED_CALLERS, reservedRows } from './reserved-cases.ts'
import { type Way, tableTester } from './write-methods.ts'

const plane = await privateControlPlane()

const LIST = onPlatformKinds(['list'], ['ownedaccesskeys'])
const kubeconfigOf = await rbacUsers(plane, {
  ...IDENTITY_CALLERS,
  ...RESERVED_CALLERS,
  patcher: [LIST, onPlatformKinds(['patch'], ['ownedaccesskeys'])],
  otherUser: [LIST, onPlatformKinds(['create', 'patch'], ['ownedaccesskeys'])],
})
const eachWay = tableTester(plane, kubeconfigOf)
const ONE_WAY_EACH = { oneInQuick: true } as const

describe('the limits of a key (5.5)', () => {
  eachWay(ACCESS_KEYS, limitRows, ONE_WAY_EACH)
  eachWay(ACCESS_KEYS, sampled(limitPlaceRows, 5), ONE_WAY_EACH)
})

describe('a key that holds a digest (3.3, 3.6, 5.5)', () => {
  eachWay(ACCESS_KEYS, digestRows, ONE_WAY_EACH)
  eachWay(ACCESS_KEYS, sampled(digestPlaceRows, 5), ONE_WAY_EACH)
})

describe('spec.key and the label of a stored object (5.5, 12.2)', () => {
  // kubectl apply would write the key into its annotation, which another policy refuses.
  const notKubectlApply = (way: Way) => way !== 'kubectl apply'
  eachWay(ACCESS_KEYS, reservedRows, { ...ONE_WAY_EACH, isTested: notKubectlApply })
})

describe('a user with only the verb patch on keys (5.5)', () => {
  const stored = {
    user: 'bob',
    groups: ['dev'],
    scope: { projects: [{ project: 'shop' }] },
    ttl: 60,
    disabled: true,
  }
  const IDENTITY = { username: 'bob' }
  const TIME = '2026-01-01T00:00:00Z'

  // biome-ignore format: a table
  const FIELDS: readonly { readonly field: string; readonly to: unknown; readonly code: number }[] = [
    { field: 'key', to: KEY, code: 403 },
    { field: 'key', to: DIGEST, code: 403 },
    { field: 'user', to: 'eve', code: 403 },
    { field: 'team', to: 'ops', code: 422 },
    { field: 'subject', to: 'eve', code: 422 },
    { field: 'groups', to: ['dev', 'admin'], code: 403 },
    { field: 'scope', to: null, code: 403 },
    { field: 'scope', to: { projects: [{ project: 'back' }] }, code: 403 },
    { field: 'ttl', to: null, code: 403 },
    { field: 'ttl', to: 61, code: 403 },
    { field: 'ttl', to: 59, code: 200 },
    { field: 'ttlAfterLastActivity', to: true, code: 403 },
    { field: 'disabled', to: null, code: 403 },
    { field: 'disabled', to: false, code: 403 },
    { field: 'type', to: 'Login', code: 422 },
    // These lift no limit.
    { field: 'user', to: null, code: 200 },
    { field: 'groups', to: null, code: 200 },
    { field: 'displayName', to: 'x', code: 200 },
    { field: 'description', to: 'x', code: 200 },
    { field: 'identity', to: IDENTITY, code: 200 },
    { field: 'identityRefresh', to: TIME, code: 200 },
    { field: 'oidcProvider', to: { clientId: 'x' }, code: 200 },
    { field: 'oidcLogin', to: { idToken: 'x' }, code: 200 },
    { field: 'parent', to: 'x', code: 200 },
  ]

  test.concurrent.each(FIELDS)(
    'gets $code when it sets $field to $to',
    async ({ field, to, code }) => {
      const path = pathOf(ACCESS_KEYS, await made(stored))
      const by = { kubeconfig: kubeconfigOf('patcher') }
      expect((await plane.raw('PATCH', path, { spec: { [field]: to } }, by)).code).toBe(code)
      expect((await plane.raw('GET', path)).body).toMatchObject({
        spec: code === 200 ? omitted(field) : stored,
      })
    },
  )

  test('is tested with every field of spec', async () => {
    const path =
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ownedaccesskeys.management.platform.sh'
    const { body } = await plane.raw<Definition>('GET', path)
    const spec = body.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {}
    expect([...new Set(FIELDS.map(({ field }) => field))].toSorted()).toEqual(
      Object.keys(spec).toSorted(),
    )
  })

  const omitted = (field: string) =>
    Object.fromEntries(Object.entries(stored).filter(([name]) => name !== field))
})

interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly spec: { readonly properties: object } }
        }
      }
    }[]
  }
}

describe('a user who knows the digest of another user (3.3, 5.5)', () => {
  test("can't create a key with it, before or after the other user's key", async () => {
    expect(await makes({ user: 'otherUser', key: DIGEST })).toBe(403)
    await made({ user: 'bob', key: DIGEST })
    expect(await makes({ user: 'otherUser', key: DIGEST })).toBe(403)
  })

  test("can't set user and digest in two requests", async () => {
    const [digest, user] = [{ key: DIGEST }, { user: 'otherUser' }]
    expect(await patches(await made(digest), user)).toBe(403)
    expect(await patches(await made(user), digest)).toBe(403)
    expect(await patches(await made({ user: 'bob', ...digest }), user)).toBe(403)
    const withoutUser = await made({ user: 'bob', ...digest })
    expect(await patches(withoutUser, { user: null })).toBe(200)
    expect(await patches(withoutUser, user)).toBe(403)
  })

  const by = { kubeconfig: kubeconfigOf('otherUser') }

  async function makes(spec: object): Promise<number> {
    return (await plane.raw('POST', pathOf(ACCESS_KEYS, {}), objectOf(spec), by)).code
  }

  async function patches(metadata: { readonly name: string }, spec: object): Promise<number> {
    return (await plane.raw('PATCH', pathOf(ACCESS_KEYS, metadata), { spec }, by)).code
  }
})

async function made(spec: object) {
  return (await plane.admin.create(ACCESS_KEYS, objectOf(spec), 'test')).metadata
}

function objectOf(spec: object) {
  const metadata = { name: uniqueName('limited') }
  return { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, metadata, spec }
}
