// What self-service gives a caller on our kinds, as self reviews answer it (contract 11.3, 12.1, 12.3).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { authorize, parseScope } from '../../../../src/domain/scope/authorize.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { ownRightsOf } from '../../../../src/gateway/selfservice/own-rights.ts'
import { VERBS } from '../../../../src/gateway/selfservice/request.ts'
import { completedReview } from '../../../../src/gateway/proxy/self-subject-access-review.ts'
import { key, owner, project, token } from './key-objects.ts'
import { exchangeOf } from './self-service-request.ts'

const MANAGEMENT = { kind: 'Management' } as const
const GROUP = 'management.platform.sh'
const KEYS = 'ownedaccesskeys'
const TOKENS = 'directclusterendpointtokens'
const OWN_KEYS = 'own access keys only'
const OWN_TOKENS = 'own tokens only'

/** The stored objects, by the end of their paths. */
const STORED: Readonly<Record<string, JsonMap>> = {
  [`${KEYS}/ci`]: key(),
  [`${KEYS}/narrow`]: key({
    metadata: { name: 'narrow', uid: 'n' },
    spec: { scope: project('shop') },
  }),
  [`${KEYS}/wide`]: key({ metadata: { name: 'wide', uid: 'w' } }),
  [`${KEYS}/bobs`]: key({ metadata: { name: 'bobs', uid: 'b' }, spec: { user: 'bob' } }),
  [`${KEYS}/platform-heartbeat`]: key({ metadata: { name: 'platform-heartbeat', uid: 'h' } }),
  [`${TOKENS}/direct`]: token(),
  [`${TOKENS}/bobs`]: token({ metadata: { name: 'bobs', ownerReferences: [owner('bobs')] } }),
}

const rightsOf = (spec: OwnedAccessKeySpec) =>
  ownRightsOf(
    exchangeOf(
      {
        verb: 'create',
        name: '',
        answers: ({ path }) => {
          const object = STORED[path.split('/').slice(-2).join('/')]
          return object ? [200, object] : [404, { kind: 'Status' }]
        },
      },
      spec,
    ),
  )

const PERSON = { type: 'Login' } as const
const PLAIN = { type: 'User' } as const
const SCOPED = { type: 'User', scope: project('shop') } as const
const TEAM = { user: '', team: 'ops', type: 'User' } as const

const reasonFor = (spec: OwnedAccessKeySpec, verb: string, what: string, subresource = '') => {
  const [resource = '', name = ''] = what.split('/')
  const attributes = { group: GROUP, version: 'v1', namespace: '', resource, name, subresource }
  return rightsOf(spec).reasonFor({ target: MANAGEMENT, verb, ...attributes })
}

describe('a self review of our kinds is answered as self-service decides (11.3)', () => {
  test.each([
    { by: 'a person', spec: PERSON, what: KEYS, reason: OWN_KEYS },
    { by: 'another key', spec: PLAIN, what: KEYS, reason: OWN_KEYS },
    { by: 'a key with a scope', spec: SCOPED, what: KEYS, reason: OWN_KEYS },
    { by: 'the key of a team, which owns no keys', spec: TEAM, what: KEYS, reason: null },
    { by: 'a person', spec: PERSON, what: TOKENS, reason: OWN_TOKENS },
    { by: 'the key of a team', spec: TEAM, what: TOKENS, reason: OWN_TOKENS },
  ])('for all verbs on $what without a name, by $by: $reason', async ({ spec, what, reason }) => {
    for (const verb of VERBS) expect(await reasonFor(spec, verb, what)).toBe(reason)
    for (const verb of ['*', 'use', 'generate', 'constructor'])
      expect(await reasonFor(spec, verb, what)).toBeNull()
  })

  test.each([
    { verb: 'get', reason: 'read only' },
    { verb: 'list', reason: 'read only' },
    { verb: 'watch', reason: 'read only' },
    { verb: 'create', reason: null },
    { verb: 'update', reason: null },
    { verb: 'delete', reason: null },
  ])('for $verb of Configs: $reason', async ({ verb, reason }) => {
    for (const what of ['configs', 'configs/global'])
      expect(await reasonFor(PERSON, verb, what)).toBe(reason)
  })

  test.each([
    { what: `${KEYS}/ci`, spec: PERSON, reason: OWN_KEYS },
    { what: `${KEYS}/wide`, spec: PLAIN, reason: OWN_KEYS },
    { what: `${KEYS}/bobs`, spec: PERSON, reason: null },
    { what: `${KEYS}/none`, spec: PERSON, reason: null },
    { what: `${KEYS}/platform-heartbeat`, spec: PERSON, reason: null },
    { what: `${KEYS}/narrow`, spec: SCOPED, reason: OWN_KEYS },
    { what: `${KEYS}/wide`, spec: SCOPED, reason: null },
    { what: `${TOKENS}/direct`, spec: PERSON, reason: OWN_TOKENS },
    { what: `${TOKENS}/bobs`, spec: PERSON, reason: null },
    { what: `${TOKENS}/none`, spec: PERSON, reason: null },
    { what: 'secrets/x', spec: PERSON, reason: null },
    { what: '*', spec: PERSON, reason: null },
  ])('for $what by $spec: $reason, the same as for a name that nobody has', async (row) => {
    for (const verb of ['get', 'update', 'patch', 'delete'])
      expect(await reasonFor(row.spec, verb, row.what)).toBe(row.reason)
  })

  test('for the status of an own key: get only, as a write of it goes upstream as the caller', async () => {
    expect(await reasonFor(PERSON, 'get', `${KEYS}/ci`, 'status')).toBe(OWN_KEYS)
    expect(await reasonFor(PERSON, 'update', `${KEYS}/ci`, 'status')).toBeNull()
    expect(await reasonFor(PERSON, 'get', `${KEYS}/ci`, 'scale')).toBeNull()
  })
})

describe('the answer of the API server is completed (11.3)', () => {
  const completed = async (
    kind: 'access' | 'rules',
    by: OwnedAccessKeySpec,
    spec: JsonMap,
    status: JsonMap,
  ) => {
    const scope = parseScope(by.scope ?? null)
    const body = Buffer.from(JSON.stringify({ spec, status }))
    const answer = await completedReview(
      kind,
      { status: 201, headers: {}, body },
      {
        target: MANAGEMENT,
        isNarrowed: scope !== null,
        decide: (request) =>
          authorize(scope, request, { projectNamespacePrefix: 'p-', roleRules: () => [] }),
        rights: rightsOf(by),
      },
    )
    return (JSON.parse((answer.body as Buffer).toString()) as { status: JsonMap }).status
  }
  const list = (resource: string, group = GROUP): JsonMap => ({
    resourceAttributes: { verb: 'list', group, resource, namespace: 'default' },
  })
  const REFUSED = { allowed: false, reason: 'no RBAC policy matched' }

  test('with yes where self-service grants it, and unchanged otherwise', async () => {
    expect(await completed('access', PERSON, list(KEYS), REFUSED)).toEqual({
      allowed: true,
      reason: OWN_KEYS,
    })
    expect(await completed('access', PERSON, list('secrets', ''), REFUSED)).toEqual(REFUSED)
    expect(await completed('access', PERSON, list(KEYS, 'example.com'), REFUSED)).toEqual(REFUSED)
    const byRbac = { allowed: true, reason: 'RBAC: allowed by ClusterRoleBinding' }
    expect(await completed('access', PERSON, list(KEYS), byRbac)).toEqual(byRbac)
  })

  test('with no where the scope denies it, whatever self-service grants', async () => {
    expect(await completed('access', SCOPED, list(KEYS), REFUSED)).toMatchObject({
      allowed: false,
      denied: true,
    })
  })

  test('with the rules of self-service, within the scope', async () => {
    const rbac = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
    const status = { resourceRules: [rbac], nonResourceRules: [], incomplete: false }
    const ruleOf = (resource: string, verbs: readonly string[]) => ({
      verbs,
      apiGroups: [GROUP],
      resources: [resource],
    })
    const person = await completed('rules', PERSON, {}, status)
    expect(person).toEqual({
      ...status,
      resourceRules: [
        rbac,
        ruleOf(KEYS, VERBS),
        ruleOf(TOKENS, VERBS),
        ruleOf('configs', ['get', 'list', 'watch']),
        ruleOf('users', ['get']),
      ],
    })
    const scope = {
      rules: [{ verbs: ['get', 'list'], resources: [{ group: GROUP, resources: [KEYS] }] }],
    }
    expect(await completed('rules', { type: 'User', scope }, {}, status)).toEqual({
      ...status,
      resourceRules: [rbac, ruleOf(KEYS, ['get', 'list'])],
      incomplete: true,
    })
  })
})
