// The ClusterRoles for users (contract 5.5): the rights of each, and those of the aggregated Kubernetes roles.
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIGS,
  type Resource,
  TEAMS,
  TOKENS,
  USERS,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { ownedBy } from './owner-cases.ts'
import { bindRole, may } from './rbac-users.ts'

const plane = await sharedControlPlane()

const RBAC = 'rbac.authorization.k8s.io'
const READS = ['get', 'list', 'watch'] as const
const CREDENTIALS = ['ownedaccesskeys', 'directclusterendpointtokens'] as const
const PEOPLE = ['users', 'teams'] as const
const EVERY_VERB = [...READS, 'create', 'update', 'patch', 'delete', 'deletecollection'] as const

const CLAIM_READS = READS.map((verb) => `${verb} accesskeyclaims`)
const CLAIM_WRITES = EVERY_VERB.map((verb) => `${verb} accesskeyclaims`)

describe.each([
  { role: 'platform-config-viewer', claims: [] },
  { role: 'view', claims: CLAIM_READS },
  { role: 'edit', claims: CLAIM_WRITES },
  { role: 'admin', claims: CLAIM_WRITES },
])('a user with the role $role', ({ role, claims }) => {
  test('can read Config, and has its rights on claims, but can read no key or token (5.5, 28.2)', async () => {
    const kubeconfig = await userWith(role)
    const rights = await rightsOf(kubeconfig)
    const ofSettings = READS.map((verb) => `${verb} configs`)
    expect(rights.sort()).toEqual([...ofSettings, ...claims].sort())
    const settings = await plane.kubectl(['get', 'configs.management.platform.sh'], {
      kubeconfig,
    })
    expect(settings).toMatchObject({ code: 0, stdout: expect.stringContaining('READY') })
    const keys = await plane.kubectl(['get', 'oak'], { kubeconfig })
    expect(keys).toMatchObject({ code: 1, stderr: expect.stringContaining('(Forbidden)') })
  })
})

describe('Config is cluster-scoped', () => {
  test.each(['view', 'platform-config-viewer'])(
    '%s grants it by a ClusterRoleBinding to a group, not by a RoleBinding (5.5, 6.2)',
    async (role) => {
      const group = uniqueName('settings-readers')
      const kubeconfig = await plane.clientKubeconfig({ name: group, user: group, groups: [group] })
      const subjects = [{ apiGroup: RBAC, kind: 'Group', name: group }]
      const bind = async (kind: string, path: string, name: string) => {
        const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name }
        const binding = {
          apiVersion: `${RBAC}/v1`,
          kind,
          metadata: { name: uniqueName('bound') },
          roleRef,
          subjects,
        }
        expect((await plane.raw('POST', `/apis/${RBAC}/v1/${path}`, binding)).code).toBe(201)
      }
      const reads = async (path: string): Promise<number> =>
        (await plane.raw('GET', path, undefined, { kubeconfig })).code
      const IN_NAMESPACE = '/api/v1/namespaces/default/configmaps'

      await bind('RoleBinding', 'namespaces/default/rolebindings', role)
      await bind('RoleBinding', 'namespaces/default/rolebindings', 'view')
      const isInEffect = async () => (await reads(IN_NAMESPACE)) === 200 || undefined
      await eventually('the RoleBinding of view is in effect', isInEffect, { withinMs: 20_000 })
      expect(await reads(pathOf(CONFIGS, {}))).toBe(403)
      expect(await rightsOf(kubeconfig)).toEqual([])

      await bind('ClusterRoleBinding', 'clusterrolebindings', role)
      const isReadable = async () => (await reads(pathOf(CONFIGS, {}))) === 200 || undefined
      await eventually('the ClusterRoleBinding is in effect', isReadable, { withinMs: 20_000 })
      const claims = role === 'view' ? CLAIM_READS : []
      expect((await rightsOf(kubeconfig)).sort()).toEqual(
        [...READS.map((verb) => `${verb} configs`), ...claims].sort(),
      )
    },
  )
})

describe('the roles of claims (28.2)', () => {
  test.each([
    { role: 'platform-claim-viewer', rights: CLAIM_READS },
    { role: 'platform-claim-editor', rights: CLAIM_WRITES },
  ])('$role grants nothing else, neither status nor finalizers', async ({ role, rights }) => {
    const kubeconfig = await userWith(role)
    expect((await rightsOf(kubeconfig)).sort()).toEqual([...rights].sort())
  })
})

describe('a user with the role platform-key-admin', async () => {
  const user = uniqueName('key-admin')
  const kubeconfig = await bindRole(plane, user, 'platform-key-admin')
  const by = { kubeconfig }

  test('has all verbs on keys, tokens and their finalizers, and no others (5.5)', async () => {
    const granted = CREDENTIALS.flatMap((plural) => [
      ...EVERY_VERB.map((verb) => `${verb} ${plural}`),
      `update ${plural}/finalizers`,
    ])
    expect((await rightsOf(kubeconfig)).sort()).toEqual(granted.sort())
  })

  test('can create, read, change and delete a key and remove its finalizer (5.1, 5.5)', async () => {
    const { code, path } = await make(ACCESS_KEYS, { user })
    expect(code).toBe(201)
    const adopted = await eventually(
      'the operator has generated the key',
      async () => {
        const { body } = await plane.raw<KubeObject<{ readonly key?: string }>>(
          'GET',
          path,
          undefined,
          by,
        )
        return body.spec?.key === undefined ? undefined : body
      },
      { withinMs: 20_000 },
    )
    expect(adopted.spec?.key).toMatch(/^pak_/)
    const changed = { metadata: { finalizers: null }, spec: { disabled: true } }
    expect((await plane.raw('PATCH', path, changed, by)).code).toBe(200)
    expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
  })

  test("can't create a key of another user (5.5)", async () => {
    const { code, message } = await make(ACCESS_KEYS, { user: 'ada' })
    expect(code).toBe(403)
    expect(message).toContain('needs the verb impersonate on users/ada')
  })

  test.each(['Login', 'OIDCRefreshToken', 'Reset'])(
    "can't create a key of type %s, but can disable and delete it (5.5, 24.5)",
    async (type) => {
      const { code, message } = await make(ACCESS_KEYS, { user, type })
      expect(code).toBe(403)
      const verb = type === 'Reset' ? 'delegate' : 'sign-in'
      expect(message).toContain(`a key of type ${type} needs the verb ${verb} on ownedaccesskeys`)
      const object = objectOf(ACCESS_KEYS, { user: 'ada', type })
      const path = pathOf(
        ACCESS_KEYS,
        (await plane.admin.create(ACCESS_KEYS, object, 'test')).metadata,
      )
      const disabled = { spec: { disabled: true } }
      expect((await plane.raw('PATCH', path, disabled, by)).code).toBe(200)
      expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
    },
  )

  test("can't create a key with a digest, not even of its own user (5.5)", async () => {
    const { code, message } = await make(ACCESS_KEYS, { user, key: `sha256:${'0a'.repeat(32)}` })
    expect(code).toBe(403)
    expect(message).toContain(`needs the verb impersonate on users/${user}`)
  })

  test("can limit, disable and delete a key of another user, but can't lift its limits (5.5)", async () => {
    const key = await plane.admin.create(
      ACCESS_KEYS,
      objectOf(ACCESS_KEYS, { user: 'ada' }),
      'test',
    )
    const path = pathOf(ACCESS_KEYS, key.metadata)
    const patch = async (spec: object) => (await plane.raw('PATCH', path, { spec }, by)).code
    const scope = { projects: [{ project: 'shop' }] }
    const given = [{ ttl: 3600 }, { ttl: 60 }, { scope }, { disabled: true }]
    for (const limit of given) expect(await patch(limit)).toBe(200)
    const lifted = [
      { ttl: 3600 },
      { ttlAfterLastActivity: true },
      { scope: null },
      { disabled: false },
    ]
    for (const limit of lifted) expect(await patch(limit)).toBe(403)
    expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
  })

  test("can create a token without an owner, but can't create one owned by a key (5.5)", async () => {
    const key = await plane.admin.create(ACCESS_KEYS, objectOf(ACCESS_KEYS), 'test')
    expect((await make(TOKENS, {}, {})).code).toBe(201)
    const ownerReferences = [ownedBy(key, { controller: true })]
    const { code, message } = await make(TOKENS, {}, { ownerReferences })
    expect(code).toBe(403)
    expect(message).toContain(`needs the verb use on ownedaccesskeys/${key.metadata.name}`)
  })

  async function make(resource: Resource, spec: object, metadata: object = {}) {
    const object = objectOf(resource, spec, metadata)
    const path = pathOf(resource, {})
    const { code, body } = await plane.raw<{ readonly message?: string }>('POST', path, object, by)
    const { name } = object.metadata
    return { code, message: body.message ?? '', path: pathOf(resource, { name }) }
  }
})

describe('a user with the role platform-people-admin', async () => {
  const by = {
    kubeconfig: await bindRole(plane, uniqueName('people-admin'), 'platform-people-admin'),
  }

  test('has all verbs on people, teams and their finalizers, and no others (5.5, 24.5)', async () => {
    const granted = PEOPLE.flatMap((plural) => [
      ...EVERY_VERB.map((verb) => `${verb} ${plural}`),
      `update ${plural}/finalizers`,
    ])
    expect((await rightsOf(by.kubeconfig)).sort()).toEqual(granted.sort())
  })

  test("can disable, enable and delete a User, but can't say who it is (5.5, 24.5)", async () => {
    const { metadata } = await plane.admin.create(USERS, objectOf(USERS), 'test')
    const path = pathOf(USERS, metadata)
    const patch = (spec: object) => plane.raw('PATCH', path, { spec }, by)
    expect((await patch({ disabled: true })).code).toBe(200)
    expect((await patch({ disabled: false })).code).toBe(200)
    expect((await patch({ identities: [{ connector: 'oidc' }] })).code).toBe(403)
    expect((await plane.raw('POST', pathOf(USERS, {}), objectOf(USERS), by)).code).toBe(403)
    expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
  })

  test("can describe and delete a Team, but can't say who is in it (5.5, 24.5)", async () => {
    const { metadata } = await plane.admin.create(TEAMS, objectOf(TEAMS), 'test')
    const path = pathOf(TEAMS, metadata)
    const patch = (spec: object) => plane.raw('PATCH', path, { spec }, by)
    expect((await patch({ displayName: 'Operators' })).code).toBe(200)
    expect((await patch({ users: ['ada'] })).code).toBe(403)
    expect((await plane.raw('DELETE', path, undefined, by)).code).toBe(200)
  })
})

function objectOf({ kind }: Resource, spec: object = {}, metadata: object = {}) {
  const named = { ...metadata, name: uniqueName('role') }
  return { apiVersion: API_VERSION, kind, metadata: named, spec }
}

/** The kubeconfig of a new user with an existing ClusterRole. */
const userWith = (role: string): Promise<string> => bindRole(plane, uniqueName(role), role)

/** The rights of a caller on our kinds, as `verb resource`. */
async function rightsOf(kubeconfig: string): Promise<string[]> {
  const resources = [...CREDENTIALS, ...PEOPLE, 'configs', 'accesskeyclaims'].flatMap((plural) => [
    plural,
    `${plural}/status`,
    `${plural}/finalizers`,
  ])
  const asked = resources.flatMap((resource) =>
    [...EVERY_VERB, 'use', 'delegate', 'sign-in', 'generate', 'record-identity'].map(
      async (verb) =>
        (await may(plane, kubeconfig, verb, resource)) ? [`${verb} ${resource}`] : [],
    ),
  )
  return (await Promise.all(asked)).flat()
}
