import { describe, expect, test } from 'vitest'
import type { AuditedRequest, Right } from '../../../tools/test/asked-rights.ts'
import { differences, grantedRights, rightText, usageOf } from '../../../tools/test/rights.ts'

const right = (parts: Partial<Right>): Right => ({
  account: 'gateway',
  verb: 'get',
  group: '',
  resource: 'secrets',
  path: '',
  namespace: 'platform-system',
  name: '',
  ...parts,
})

const request = (
  parts: Partial<AuditedRequest> = {},
  reference: AuditedRequest['objectRef'] = {},
): AuditedRequest => ({
  verb: 'get',
  user: { username: 'system:serviceaccount:platform-system:gateway' },
  requestURI: '/x',
  objectRef: { resource: 'secrets', namespace: 'platform-system', name: 'tls', ...reference },
  responseStatus: { code: 200 },
  ...parts,
})

const EVENTS = { verb: 'create', group: 'events.k8s.io', resource: 'events' }

const DELIVERY = { username: 'system:serviceaccount:platform-system:delivery' }
const CLAIMS = {
  account: 'delivery',
  group: 'management.platform.sh',
  resource: 'accesskeyclaims',
  namespace: '',
}
const IN_SHOP = (resource: string) => ({
  resource,
  namespace: 'shop',
  name: 'deploy',
  ...(resource === CLAIMS.resource && { apiGroup: CLAIMS.group }),
})

const ALLOWED = { 'authorization.k8s.io/decision': 'allow' }

const FORBIDDEN = {
  responseStatus: { code: 403 },
  annotations: { 'authorization.k8s.io/decision': 'forbid' },
}

test.each([
  { name: 'a right', right: right({}), request: request(), isUsed: true },
  { name: 'for one object', right: right({ name: 'tls' }), request: request(), isUsed: true },
  {
    name: 'of the sign-in process, in its own namespace',
    right: right({ account: 'sign-in', namespace: 'platform-system-sign-in' }),
    request: request(
      { user: { username: 'system:serviceaccount:platform-system-sign-in:sign-in' } },
      { namespace: 'platform-system-sign-in' },
    ),
    isUsed: true,
  },
  { name: 'for another object', right: right({ name: 'ca' }), request: request(), isUsed: false },
  {
    name: 'in another namespace',
    right: right({ namespace: 'default' }),
    request: request(),
    isUsed: false,
  },
  {
    name: 'cluster-wide, when a namespace would do',
    right: right({ namespace: '' }),
    request: request(),
    isUsed: false,
  },
  {
    name: 'cluster-wide, to create events',
    right: right({ ...EVENTS, namespace: '' }),
    request: request({ verb: 'create' }, { apiGroup: 'events.k8s.io', resource: 'events' }),
    isUsed: true,
  },
  {
    name: 'cluster-wide, to delete events',
    right: right({ ...EVENTS, namespace: '', verb: 'delete' }),
    request: request({ verb: 'delete' }, { apiGroup: 'events.k8s.io', resource: 'events' }),
    isUsed: false,
  },
  {
    name: 'of the delivery process, to a claim in whatever namespace',
    right: right({ ...CLAIMS, verb: 'patch' }),
    request: request({ verb: 'patch', user: DELIVERY }, IN_SHOP('accesskeyclaims')),
    isUsed: true,
  },
  {
    name: 'of the delivery process, to the Secret of a claim where an owner grants it',
    right: right({ account: 'delivery', namespace: '' }),
    request: request({ user: DELIVERY }, IN_SHOP('secrets')),
    isUsed: true,
  },
  {
    name: 'of the delivery process, to a Secret of the platform',
    right: right({ account: 'delivery', namespace: '' }),
    request: request({ user: DELIVERY }),
    isUsed: false,
  },
  {
    name: 'of the delivery process, to a Secret of Kubernetes',
    right: right({ account: 'delivery', namespace: '' }),
    request: request({ user: DELIVERY }, { namespace: 'kube-system' }),
    isUsed: false,
  },
  {
    name: 'of the other account',
    right: right({ account: 'manager' }),
    request: request(),
    isUsed: false,
  },
  {
    name: 'on a subresource',
    right: right({ resource: 'secrets/status' }),
    request: request({}, { subresource: 'status' }),
    isUsed: true,
  },
  {
    name: 'on the object only',
    right: right({}),
    request: request({}, { subresource: 'status' }),
    isUsed: false,
  },
  {
    name: 'to create, by an apply that created',
    right: right({ verb: 'create' }),
    request: request({ verb: 'patch', responseStatus: { code: 201 } }),
    isUsed: true,
  },
  {
    name: 'to create, by an apply that changed',
    right: right({ verb: 'create' }),
    request: request({ verb: 'patch' }),
    isUsed: false,
  },
  {
    name: 'by a request that found nothing',
    right: right({}),
    request: request({ responseStatus: { code: 404 } }),
    isUsed: false,
  },
  {
    name: 'by a request that was refused',
    right: right({}),
    request: request(FORBIDDEN),
    isUsed: false,
  },
])('a right $name is in use: $isUsed', async ({ right: granted, request: seen, isUsed }) => {
  const { used } = await usageOf([seen], [granted])
  expect(used).toEqual(isUsed ? [rightText(granted)] : [])
})

const AS_ADA: Partial<AuditedRequest> = {
  impersonatedUser: {
    username: 'ada',
    groups: ['dev', 'system:authenticated'],
    extra: { 'platform.sh/access-key': ['ci'] },
  },
  authenticationMetadata: { impersonationConstraint: 'impersonate:user-info' },
}

const anywhere = (parts: Partial<Right>): Right => right({ namespace: '', ...parts })
const toAct = (parts: Partial<Right>): Right =>
  anywhere({ verb: 'impersonate:user-info', group: 'authentication.k8s.io', ...parts })
const onAll = (verb: string): Right =>
  anywhere({ verb: `impersonate-on:user-info:${verb}`, group: '*', resource: '*' })
const onPaths = (verb: string): Right =>
  anywhere({ verb: `impersonate-on:user-info:${verb}`, resource: '', path: '*' })

describe('a request that the gateway sent as a user', () => {
  const IMPERSONATION = [
    toAct({ resource: 'users' }),
    toAct({ resource: 'groups' }),
    toAct({ resource: 'userextras/platform.sh/access-key' }),
  ]
  const { objectRef: _, ...onPath } = request({ ...AS_ADA, requestURI: '/version?timeout=32s' })
  const impersonated = [FORBIDDEN, { responseStatus: { code: 404 } }, {}].map((parts) =>
    request({ ...AS_ADA, ...parts }),
  )

  test.each(impersonated)(
    'shows the right to impersonate that user, with any response: %j',
    async (seen) => {
      const granted = [...IMPERSONATION, onAll('get'), onAll('list'), onPaths('get'), right({})]
      const { used, refused } = await usageOf([seen], granted)
      expect({ used: used.toSorted(), refused }).toEqual({
        used: [...IMPERSONATION, onAll('get')].map(rightText).toSorted(),
        refused: [],
      })
    },
  )

  test('does not show the right on an extra that it lacked', async () => {
    const other = toAct({ resource: 'userextras/platform.sh/scope' })
    expect((await usageOf([request(AS_ADA)], [other])).used).toEqual([])
  })

  test('on a path shows the right on non-resource paths', async () => {
    const { used } = await usageOf([onPath], [onAll('get'), onPaths('get'), onPaths('head')])
    expect(used).toEqual([rightText(onPaths('get'))])
  })

  test('by the unconstrained verb does not show the constrained verb', async () => {
    const { authenticationMetadata: __, ...legacy } = request(AS_ADA)
    const older = anywhere({ verb: 'impersonate', resource: 'users' })
    const granted = [...IMPERSONATION, onAll('get'), older]
    expect((await usageOf([legacy], granted)).used).toEqual([rightText(older)])
  })

  const refusedBy = (message: string): AuditedRequest =>
    request({ responseStatus: { code: 403, message } })
  const CANNOT = 'x is forbidden: User "system:serviceaccount:platform-system:gateway" cannot'

  // biome-ignore format: a table
  test.each([
    { what: 'a verb that is not granted', message: `${CANNOT} impersonate-on:user-info:patch resource "pods/x" in API group "apps" at the cluster scope`, names: 'impersonate-on:user-info:patch pods/x.apps' },
    { what: 'a verb on a path', message: `${CANNOT} impersonate-on:user-info:options path "/y"`, names: 'impersonate-on:user-info:options path /y' },
    { what: 'a service account', message: `${CANNOT} impersonate resource "serviceaccounts" in API group "" at the cluster scope`, names: 'impersonate serviceaccounts' },
    { what: 'a right that no user has', message: `${CANNOT} impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed`,
      names: 'impersonating the system:masters group is not allowed groups.authentication.k8s.io' },
    { what: 'nothing by a message that it cannot read', message: 'no', names: ' ' },
  ])('that is not sent for lack of $what is reported', async ({ message, names }) => {
    const granted = [...IMPERSONATION, onAll('get'), onPaths('get')]
    const { refused } = await usageOf([refusedBy(message)], granted)
    expect(refused).toEqual([`gateway: ${names} (/x)`])
  })

  test('is not reported for a granted right that a starting server refuses', async () => {
    const message = `${CANNOT} impersonate-on:user-info:get resource "pods" in API group "" in the namespace "x"`
    expect((await usageOf([refusedBy(message)], [onAll('get')])).refused).toEqual([])
  })
})

test('a right that RBAC lacks is reported; a refusal by a policy is not', async () => {
  const { refused } = await usageOf(
    [request(FORBIDDEN), request({ ...FORBIDDEN, annotations: ALLOWED }), request()],
    [],
  )
  expect(refused).toEqual(['gateway: get secrets tls in platform-system (/x)'])
})

test('the delivery process is refused Secrets of claims where no owner lets it, and nothing else (28.4)', async () => {
  const asOf = (namespace: string) =>
    request({ ...FORBIDDEN, user: DELIVERY, verb: 'list' }, { namespace })
  const granted = grantedRights()
  expect((await usageOf([asOf('shop')], granted)).refused).toEqual([])
  expect((await usageOf([asOf('platform-system')], granted)).refused).toEqual([
    'delivery: list secrets tls in platform-system (/x)',
  ])
})

test('a request with a granted right that a starting server refused is not reported', async () => {
  expect((await usageOf([request(FORBIDDEN)], [right({})])).refused).toEqual([])
})

test('a run fails for each right that no request used and each that was missing', () => {
  const [used, idle] = [right({}), right({ verb: 'delete' })]
  const seen = { used: [rightText(used)], refused: ['gateway: get pods (/pods)'] }
  expect(differences([{ used: [], refused: [] }, seen], [used, idle])).toEqual([
    {
      test: 'config/rbac lacks rights that the program asked for',
      error: 'gateway: get pods (/pods)',
    },
    {
      test: 'config/rbac grants rights that the program never used',
      error: 'gateway: delete secrets in platform-system',
    },
  ])
  expect(differences([{ ...seen, refused: [] }], [used])).toEqual([])
})

test('a right that only policies check counts as used by the account that they check, and by no other', () => {
  const onKeys = (account: string, verb: string): Right =>
    anywhere({ account, verb, group: 'management.platform.sh', resource: 'ownedaccesskeys' })
  const asked = [onKeys('manager', 'generate'), onKeys('gateway', 'delegate')]
  expect(differences([], [...asked, onKeys('gateway', 'use'), onKeys('delivery', 'use')])).toEqual(
    [],
  )
  const swapped = [onKeys('gateway', 'generate'), onKeys('manager', 'delegate')]
  expect(differences([], swapped)).toEqual([
    expect.objectContaining({ error: swapped.map(rightText).join('\n') }),
  ])
})

test('the rights of the accounts are those of config/rbac, and all but the impersonation rights are narrow', () => {
  const granted = grantedRights()
  expect(granted.map(rightText)).toEqual(
    expect.arrayContaining([
      'gateway: patch secrets platform-gateway-ca in platform-system',
      'gateway: patch secrets platform-gateway-tls in platform-system',
      'manager: list configs.management.platform.sh',
      'manager: create events.events.k8s.io',
      'delivery: delegate ownedaccesskeys.management.platform.sh',
      'delivery: patch accesskeyclaims/status.management.platform.sh',
      'delivery: patch secrets',
      'delivery: update leases.coordination.k8s.io management-operator-delivery in platform-system',
      'gateway: impersonate:user-info users.authentication.k8s.io',
      'gateway: impersonate-on:user-info:get *.*',
      'gateway: impersonate-on:user-info:post path *',
    ]),
  )
  const wide = granted.filter(({ verb, group, resource, path }) =>
    [verb, group, resource, path].includes('*'),
  )
  expect(wide.filter(({ verb }) => !verb.startsWith('impersonate-on:user-info:'))).toEqual([])
  expect(granted.filter(({ verb }) => verb === 'impersonate')).toEqual([])
})
