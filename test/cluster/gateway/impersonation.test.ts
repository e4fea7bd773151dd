// What RBAC alone lets the gateway's ServiceAccount do, by impersonation and as itself: the last line of defence behind
// the schema of keys and the gateway's own checks (contract 10.5, 12.1).
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { type RulesReview, rulesOf } from '../../support/own-rights.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type Impersonation, KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'

interface ReviewAnswer {
  readonly message?: string
  readonly status?: { readonly userInfo: object; readonly allowed?: boolean }
}

const plane = await sharedControlPlane()
const gateway = await gatewayAccountClient(plane)

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
const reviewAs = (as: Impersonation) => gateway<ReviewAnswer>('POST', REVIEWS, as, REVIEW)

const ADA = { user: 'ada', ...KEY_EXTRA }
const MASTERS = 'system:masters'
const MANY = ['one', 'two', 'three', 'four', 'five']

describe('RBAC lets the gateway impersonate the identities of keys (10.5)', () => {
  test.each([
    { name: 'a user', as: { user: 'ada' }, user: 'ada' },
    { name: 'a team', as: { user: 'platform:team:shop' }, user: 'platform:team:shop' },
    { name: 'a subject', as: { user: 'https://idp.example/#1' }, user: 'https://idp.example/#1' },
    { name: 'a user with a group', as: { user: 'ada', group: ['dev'] }, groups: ['dev'] },
    { name: 'a user with many groups', as: { user: 'ada', group: MANY }, groups: MANY },
    {
      name: 'a user with the groups that the gateway adds',
      as: { user: 'ada', group: ['platform:authenticated', 'system:authenticated'] },
      groups: ['platform:authenticated'],
    },
  ])('$name', async ({ as, user = 'ada', groups = [] }) => {
    const { code, body } = await reviewAs({ ...KEY_EXTRA, ...as })
    expect({ code, who: body.status?.userInfo }).toEqual({
      code: 201,
      who: {
        username: user,
        groups: [...groups, 'system:authenticated'],
        extra: { 'platform.sh/access-key': ['ci'] },
      },
    })
  })
})

describe('the limits that RBAC sets to impersonation', () => {
  // biome-ignore format: a table
  const refused: readonly { readonly name: string; readonly as: Impersonation }[] = [
    ...[MASTERS, ` ${MASTERS}`, `${MASTERS} `, `\t${MASTERS}`].map((group) => ({ name: `group ${JSON.stringify(group)}`, as: { ...ADA, group } })),
    ...[[MASTERS, MASTERS], ['dev', MASTERS], [MASTERS, 'dev'], [...MANY, MASTERS], [MASTERS, ...MANY], ['system:authenticated', MASTERS]].map((group) => ({ name: `groups ${group.join()}`, as: { ...ADA, group } })),
    { name: 'group system:masters without an extra', as: { user: 'ada', group: MASTERS } },
    { name: 'group system:masters of a team', as: { ...ADA, user: 'platform:team:shop', group: MASTERS } },
    { name: 'a blank group', as: { ...ADA, group: '' } },
    { name: 'a blank group among others', as: { ...ADA, group: [...MANY, ' '] } },
    ...['platform-system:manager', 'platform-system:gateway', 'kube-system:default', 'default:default', 'kube-system:namespace-controller'].map((name) => ({ name: `service account ${name}`, as: { user: `system:serviceaccount:${name}`, ...KEY_EXTRA } })),
    { name: 'a service account without an extra', as: { user: 'system:serviceaccount:platform-system:manager' } },
    { name: 'a service account with its groups', as: { user: 'system:serviceaccount:platform-system:manager', group: ['system:serviceaccounts', 'system:authenticated'] } },
    { name: 'a service account in spaces', as: { user: ' system:serviceaccount:default:default ', ...KEY_EXTRA } },
    ...['n1', 'node-1.example.com'].map((name) => ({ name: `node ${name}`, as: { user: `system:node:${name}`, ...KEY_EXTRA } })),
    { name: 'a node without an extra', as: { user: 'system:node:n1' } },
    { name: 'a node with its group', as: { user: 'system:node:n1', group: ['system:nodes'] } },
    ...['1', '0', 'ada'].map((uid) => ({ name: `uid ${uid}`, as: { ...ADA, uid } })),
    { name: 'a uid without an extra', as: { user: 'ada', uid: '1' } },
    ...['platform.sh%2fscope', 'platform.sh%2faccess-keys', 'platform.sh%2faccess-key%2fx', 'platform.sh', 'access-key', 'scopes', '%46oo', 'example.com%2faccess-key',
      'authentication.kubernetes.io%2fcredential-id', 'authentication.kubernetes.io%2fnode-name'].map((extra) => ({ name: `extra ${extra}`, as: { ...ADA, [`extra-${extra}`]: 'x' } })),
    { name: 'a blank extra', as: { user: 'ada', 'extra-platform.sh%2faccess-key': '' } },
  ]

  test.each(refused)('RBAC refuses $name (A4)', async ({ as }) => {
    const { code, body } = await reviewAs(as)
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringMatching(
        `^.*forbidden: (?:User "${GATEWAY_USER}" cannot impersonate|impersonating)`,
      ),
    })
  })

  test.each(['', ' ', '\t', '  \t ', [' ', 'ada']])(
    'a blank user: %j with the extra that is always sent is a 400 (A3)',
    async (user) => {
      const { code, body } = await reviewAs({ ...KEY_EXTRA, user })
      expect({ code, message: body.message }).toEqual({
        code: 400,
        message: expect.stringContaining('without impersonating a user name'),
      })
    },
  )

  test('a group spelled differently from system:masters has no rights (A4)', async () => {
    for (const group of ['System:Masters', 'SYSTEM:MASTERS', 'system:master', 'system: masters']) {
      const as = { ...ADA, group }
      expect((await reviewAs(as)).code).toBe(201)
      expect((await gateway('GET', '/api/v1/secrets', as)).code).toBe(403)
    }
  })

  test('RBAC does not refuse users of control plane components: the schema and the gateway do (A4)', async () => {
    expect((await reviewAs({ ...KEY_EXTRA, user: 'system:kube-scheduler' })).code).toBe(201)
  })
})

describe('an impersonated request is authorized by the rights of its user (10.5)', () => {
  const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
  test.each([
    ['GET', '/api/v1/namespaces/default/configmaps/x', 'get resource "configmaps"'],
    ['GET', '/api/v1/configmaps', 'list resource "configmaps"'],
    ['GET', '/api/v1/configmaps?watch=1', 'watch resource "configmaps"'],
    ['GET', '/api/v1/namespaces/default/pods/x/log', 'get resource "pods/log"'],
    ['POST', '/api/v1/namespaces/default/pods/x/exec', 'create resource "pods/exec"'],
    ['POST', '/api/v1/namespaces/default/configmaps', 'create resource "configmaps"'],
    ['PUT', '/api/v1/namespaces/default/configmaps/x', 'update resource "configmaps"'],
    ['PATCH', '/api/v1/namespaces/default/configmaps/x', 'patch resource "configmaps"'],
    ['DELETE', '/api/v1/namespaces/default/configmaps/x', 'delete resource "configmaps"'],
    ['DELETE', '/api/v1/namespaces/default/configmaps', 'deletecollection resource "configmaps"'],
    ['GET', KEYS, 'list resource "ownedaccesskeys"'],
    ['PUT', '/apis/apps/v1/namespaces/default/deployments/x/scale', 'update resource "deployments'],
    ['GET', '/x', 'get path "/x"'],
    ['POST', '/x', 'post path "/x"'],
    ['PUT', '/x', 'put path "/x"'],
    ['PATCH', '/x', 'patch path "/x"'],
    ['DELETE', '/x', 'delete path "/x"'],
  ] as const)('%s %s is refused', async (method, path, what) => {
    const { code, body } = await gateway<ReviewAnswer>(method, path, ADA)
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining(`User "ada" cannot ${what}`),
    })
  })

  test('HEAD of a non-resource path is refused', async () => {
    expect((await gateway('HEAD', '/x', ADA)).code).toBe(403)
  })

  test('discovery and version are granted to every user', async () => {
    for (const path of ['/api', '/apis', '/apis/apps/v1', '/openapi/v2', '/openapi/v3', '/version'])
      expect((await gateway('GET', path, ADA)).code).toBe(200)
  })
})

const asGateway = (path: string, body: object) => gateway<RulesReview>('POST', path, {}, body)

describe('the own rights of the gateway (12.1)', () => {
  test('are exactly these, beside those of every account', async () => {
    const [own, unprivileged] = await Promise.all([
      rulesOf(asGateway, 'platform-system'),
      rulesOf(await unprivilegedClient(), 'platform-system'),
    ])
    const granted = own.filter((rule) => !unprivileged.includes(rule))
    const KINDS = 'directclusterendpointtokens, ownedaccesskeys of management.platform.sh'
    expect(granted.filter((rule) => !rule.startsWith('impersonate')).toSorted()).toEqual([
      'confine: tokensecrets of management.platform.sh',
      `create, delete, get, list, patch, update, watch: ${KINDS}`,
      'create, get, patch: secrets platform-gateway-ca, platform-gateway-tls',
      'create, patch: configmaps platform-gateway-ca',
      'create: teams, users of management.platform.sh',
      'delegate, use: ownedaccesskeys of management.platform.sh',
      'delete, patch: teams, users platform-heartbeat of management.platform.sh',
      'get, list, watch: configmaps',
      'get, list, watch: configs of management.platform.sh',
      'get, list, watch: teams, users of management.platform.sh',
      `get: clusterroles ${ROLES.map((role) => `platform:scope:${role}`).join(', ')} of rbac.authorization.k8s.io`,
      'list, watch: secrets platform-settings-gateway',
      'patch: ownedaccesskeys/status of management.platform.sh',
    ])
    expect(granted.filter((rule) => rule.startsWith('impersonate')).toSorted()).toEqual([
      `${on('', 'create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch')}: * of *`,
      `${on('delete', 'get', 'head', 'patch', 'post', 'put')}: path *`,
      'impersonate:user-info: groups, userextras/platform.sh/access-key, users of authentication.k8s.io',
    ])
  })

  test('satisfy the two policies that ask for a right: any user in a key, and a key as owner (5.5)', async () => {
    const apiVersion = 'management.platform.sh/v1'
    const metadata = { name: uniqueName('account') }
    const key = { apiVersion, kind: 'OwnedAccessKey', metadata }
    const owner = { ...key, name: 'ci', uid: 'x', controller: true, metadata: undefined }
    const token = { apiVersion, kind: 'DirectClusterEndpointToken' }
    const made = await Promise.all([
      dryRun('ownedaccesskeys', { ...key, spec: { user: 'ada', groups: ['dev'] } }),
      dryRun('directclusterendpointtokens', {
        ...token,
        metadata: { ...metadata, ownerReferences: [owner] },
        spec: { ttl: 60 },
      }),
    ])
    expect(made).toEqual([{ code: 201 }, { code: 201 }])
  })

  test('include no Secrets and ConfigMaps of other namespaces, but for the CA of the sign-in process (25.1)', async () => {
    const ofOthers = async (namespace: string) =>
      (await rulesOf(asGateway, namespace)).filter((rule) => / (?:secrets|configmaps)/.test(rule))
    expect(await ofOthers('default')).toEqual([])
    expect(await ofOthers('platform-system-sign-in')).toEqual([
      'get: configmaps platform-sign-in-ca',
    ])
  })

  // biome-ignore format: a table
  test.each([
    ['GET', '/api/v1/secrets'], ['GET', '/api/v1/namespaces/platform-system/secrets'], ['GET', '/api/v1/namespaces/platform-system/secrets/platform-signing-key-1'],
    ['GET', '/api/v1/namespaces/kube-system/secrets/x'], ['DELETE', '/api/v1/namespaces/platform-system/secrets/platform-gateway-tls'],
    ['GET', '/api/v1/pods'], ['POST', '/api/v1/namespaces/platform-system/pods'], ['POST', '/api/v1/namespaces/platform-system/pods/x/exec'],
    ['GET', '/api/v1/nodes'], ['GET', '/api/v1/nodes/x/proxy/exec'], ['GET', '/api/v1/namespaces'], ['GET', '/api/v1/namespaces/default/configmaps'],
    ['PATCH', '/api/v1/namespaces/platform-system/configmaps/platform-jwks'], ['POST', '/api/v1/namespaces/platform-system/serviceaccounts/manager/token'],
    ['GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles'], ['GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin'],
    ['PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/platform:scope:agent'], ['POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'],
    ['PATCH', '/apis/management.platform.sh/v1/configs/platform-manager-config'], ['PATCH', '/apis/management.platform.sh/v1/configs/platform-manager-config/status'],
    ['PATCH', '/apis/management.platform.sh/v1/directclusterendpointtokens/x/status'],
    ['POST', '/apis/authentication.k8s.io/v1/tokenreviews'], ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ['PATCH', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/identity.management.platform.sh'],
    ['GET', '/metrics'], ['GET', '/debug/pprof/'], ['GET', '/logs/'],
  ] as const)('do not include %s %s', async (method, path) => {
    const { code, body } = await gateway<ReviewAnswer>(method, path)
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining(`User "${GATEWAY_USER}" cannot`),
    })
  })
})

async function dryRun(plural: string, object: object) {
  const path = `/apis/management.platform.sh/v1/${plural}?dryRun=All`
  const { code, body } = await gateway<ReviewAnswer>('POST', path, {}, object)
  return { code, message: body.message }
}

const ROLES = [
  'agent',
  'metrics-reader',
  'metrics-writer',
  'network-peer',
  'platformCLI',
  'vcluster',
  'workspace',
]

const on = (...verbs: readonly string[]): string =>
  verbs.map((verb) => `impersonate-on:user-info:${verb}`).join(', ')

/** A client of a ServiceAccount without rights of its own. */
async function unprivilegedClient() {
  const kubeconfig = await plane.serviceAccountKubeconfig('default', 'default')
  return (path: string, body: object) => plane.raw<RulesReview>('POST', path, body, { kubeconfig })
}
