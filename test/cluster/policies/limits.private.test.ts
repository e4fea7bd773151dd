// What a right to write keys does not give (contract 5.5): the limits of others, a key for an object that waits
// for one, a digest that another user holds, and the label of what was made with a key. No operator runs: what
// is stored is what was sent.
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { sampled } from '../../support/tier.ts'
import { digestPlaceRows, digestRows } from './digest-cases.ts'
import { IDENTITY_CALLERS } from './identity-cases.ts'
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
  thief: [LIST, onPlatformKinds(['create', 'patch'], ['ownedaccesskeys'])],
})
const eachWay = tableTester(plane, kubeconfigOf)
const QUICKLY = { oneInQuick: true } as const

describe('the limits of a key (5.5)', () => {
  eachWay(ACCESS_KEYS, limitRows, QUICKLY)
  eachWay(ACCESS_KEYS, sampled(limitPlaceRows, 5), QUICKLY)
})

describe('a key that holds a digest (3.3, 3.6, 5.5)', () => {
  eachWay(ACCESS_KEYS, digestRows, QUICKLY)
  eachWay(ACCESS_KEYS, sampled(digestPlaceRows, 5), QUICKLY)
})

describe('the key and the label of an object that is there (5.5, 12.2)', () => {
  // It would keep the key in its annotation, which is refused whatever it changes.
  const byHand = (way: Way) => way !== 'kubectl apply'
  eachWay(ACCESS_KEYS, reservedRows, { ...QUICKLY, isMeant: byHand })
})

describe('a user who may patch keys and nothing else (5.5)', () => {
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
    // These grant nothing.
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

  test.concurrent.each(FIELDS)('sets $field to $to: $code', async ({ field, to, code }) => {
    const path = pathOf(ACCESS_KEYS, await made(stored))
    const by = { kubeconfig: kubeconfigOf('patcher') }
    expect((await plane.raw('PATCH', path, { spec: { [field]: to } }, by)).code).toBe(code)
    expect((await plane.raw('GET', path)).body).toMatchObject({
      spec: code === 200 ? omitted(field) : stored,
    })
  })

  test('finds every field of a key in this table', async () => {
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

describe('a user who read a digest of another user in Git (3.3, 5.5)', () => {
  test('does not store it in a key of their own, before or after its holder', async () => {
    expect(await makes({ user: 'thief', key: DIGEST })).toBe(403)
    await made({ user: 'bob', key: DIGEST })
    expect(await makes({ user: 'thief', key: DIGEST })).toBe(403)
  })

  test('does not get there in two steps', async () => {
    const [digest, user] = [{ key: DIGEST }, { user: 'thief' }]
    expect(await patches(await made(digest), user)).toBe(403)
    expect(await patches(await made(user), digest)).toBe(403)
    expect(await patches(await made({ user: 'bob', ...digest }), user)).toBe(403)
    const freed = await made({ user: 'bob', ...digest })
    expect(await patches(freed, { user: null })).toBe(200)
    expect(await patches(freed, user)).toBe(403)
  })

  const by = { kubeconfig: kubeconfigOf('thief') }

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
