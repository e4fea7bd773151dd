import { expect, test } from 'vitest'
import {
  type AuditedRequest,
  differences,
  grantedRights,
  type Right,
  rightText,
  usageOf,
} from '../../../tools/test/rights.ts'

const right = (parts: Partial<Right>): Right => ({
  account: 'gateway',
  verb: 'get',
  group: '',
  resource: 'secrets',
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

const FORBIDDEN = {
  responseStatus: { code: 403 },
  annotations: { 'authorization.k8s.io/decision': 'forbid' },
}

test.each([
  { name: 'a right', right: right({}), request: request(), isUsed: true },
  { name: 'for one object', right: right({ name: 'tls' }), request: request(), isUsed: true },
  { name: 'for another object', right: right({ name: 'ca' }), request: request(), isUsed: false },
  {
    name: 'in another namespace',
    right: right({ namespace: 'default' }),
    request: request(),
    isUsed: false,
  },
  {
    name: 'everywhere, where a namespace would do',
    right: right({ namespace: '' }),
    request: request(),
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
])('$name: in use is $isUsed', ({ right: granted, request: seen, isUsed }) => {
  expect(usageOf([seen], [granted]).used).toEqual(isUsed ? [rightText(granted)] : [])
})

test('a right that the authorizer missed is told; what a policy refused is not', () => {
  const { refused } = usageOf(
    [request(FORBIDDEN), request({ ...FORBIDDEN, annotations: {} }), request()],
    [],
  )
  expect(refused).toEqual(['gateway: get secrets tls in platform-system (/x)'])
})

test('what is granted was refused by a server that has just started: it is not told', () => {
  expect(usageOf([request(FORBIDDEN)], [right({})]).refused).toEqual([])
})

test('a run fails for each right that nobody used and each that was missing', () => {
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

test('the rights of both accounts are read from config/rbac, and all are narrow', () => {
  const granted = grantedRights()
  expect(granted.map(rightText)).toEqual(
    expect.arrayContaining([
      'gateway: patch secrets platform-gateway-tls in platform-system',
      'manager: list configs.management.platform.sh',
      'manager: create events.events.k8s.io in default',
    ]),
  )
  expect(granted.filter((one) => [one.verb, one.group, one.resource].includes('*'))).toEqual([])
})
