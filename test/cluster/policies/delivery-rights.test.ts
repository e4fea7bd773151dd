// @module-tag no-retry
// What RBAC and the policies let the ServiceAccount of the delivery process do, if whoever holds its token is an attacker, and
// who may let it write Secrets (28.3, 28.4).
import { beforeAll, describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type RulesReview, rulesOf } from '../../support/own-rights.ts'

const plane = await sharedControlPlane()
const NAMESPACE = 'platform-system'
const [ours, nobodys] = await Promise.all([
  plane.serviceAccountKubeconfig(NAMESPACE, 'delivery'),
  plane.serviceAccountKubeconfig('default', 'default'),
])

interface Refusal {
  readonly message?: string
}

type Method = Parameters<typeof plane.raw>[0]
const sendAs =
  (kubeconfig: string) =>
  (method: Method, path: string, body?: unknown, contentType = 'application/json') =>
    plane.raw<Refusal>(method, path, body, { kubeconfig, contentType })
const send = sendAs(ours)

const rulesIn = (kubeconfig: string, namespace: string): Promise<readonly string[]> =>
  rulesOf((path, body) => plane.raw<RulesReview>('POST', path, body, { kubeconfig }), namespace)

/** The rights in a namespace that not every account has. */
async function grantedIn(namespace: string): Promise<readonly string[]> {
  const ofAll = await rulesIn(nobodys, namespace)
  return (await rulesIn(ours, namespace)).filter((rule) => !ofAll.includes(rule)).toSorted()
}

const KINDS = 'management.platform.sh'
const API = `/apis/${KINDS}/v1`
const CORE = '/api/v1/namespaces'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const CLUSTER_WIDE = [
  `list, patch, watch: accesskeyclaims of ${KINDS}`,
  `patch: accesskeyclaims/status of ${KINDS}`,
  `update: accesskeyclaims/finalizers of ${KINDS}`,
  `create, delete, list, patch, watch: ownedaccesskeys of ${KINDS}`,
  `delegate, use: ownedaccesskeys of ${KINDS}`,
  `create, delete, get, list, watch: directclusterendpointtokens of ${KINDS}`,
  `list, watch: configs of ${KINDS}`,
  'list, watch: namespaces',
  'create: events of events.k8s.io',
  `confine: tokensecrets of ${KINDS}`,
]

describe('the rights of the delivery process (28.3)', () => {
  // biome-ignore format: a table
  test.each([
    { where: 'default', more: [] },
    { where: 'platform-system-sign-in', more: [] },
    {
      where: NAMESPACE,
      more: [
        'list, watch: configmaps platform-config-in-force, platform-gateway-ca',
        'list, watch: secrets platform-settings-delivery',
        'create, get, patch, update: configmaps platform-secret-store-status',
        'create: leases of coordination.k8s.io',
        'get, update: leases management-operator-delivery of coordination.k8s.io',
      ],
    },
  ])('are exactly these in namespace $where', async ({ where, more }) => {
    expect(await grantedIn(where)).toEqual([...CLUSTER_WIDE, ...more].toSorted())
  })

  // biome-ignore format: a table
  test.each([
    ['GET', `${CORE}/${NAMESPACE}/secrets`], ['GET', `${CORE}/${NAMESPACE}/secrets/platform-signing-key-1`], ['GET', '/api/v1/secrets'],
    ['GET', `${CORE}/default/secrets`], ['POST', `${CORE}/default/secrets`], ['GET', `${CORE}/kube-system/secrets`],
    ['GET', `${CORE}/platform-system-sign-in/secrets`], ['GET', `${CORE}/${NAMESPACE}/configmaps`], ['GET', `${CORE}/${NAMESPACE}/configmaps/platform-jwks`],
    ['PATCH', `${CORE}/${NAMESPACE}/configmaps/platform-gateway-ca`], ['POST', `${CORE}/${NAMESPACE}/serviceaccounts/delivery/token`],
    ['POST', `${CORE}/${NAMESPACE}/serviceaccounts/manager/token`], ['POST', `${CORE}/${NAMESPACE}/pods`], ['POST', `${CORE}/${NAMESPACE}/configmaps`], ['GET', `${CORE}/${NAMESPACE}/secrets/platform-settings-gateway`],
    ['POST', `${API}/namespaces/default/accesskeyclaims`], ['DELETE', `${API}/namespaces/default/accesskeyclaims/x`],
    ['DELETE', `${API}/ownedaccesskeys`], ['PUT', `${API}/ownedaccesskeys/x`], ['PATCH', `${API}/ownedaccesskeys/x/status`],
    ['PATCH', `${API}/directclusterendpointtokens/x`], ['PATCH', `${API}/configs/platform-manager-config`], ['GET', `${API}/users`],
    ['GET', `${RBAC}/clusterroles`], ['POST', `${RBAC}/namespaces/default/rolebindings`], ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
  ] as const)('do not include %s %s', async (method, path) => {
    const { code, body } = await send(method, path, method === 'GET' ? undefined : {})
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining(`User "system:serviceaccount:${NAMESPACE}:delivery" cannot`),
    })
  })
})

describe('an owner of a namespace (28.4)', () => {
  const shop = uniqueName('shop')
  const other = uniqueName('other')
  const secrets = `${CORE}/${shop}/secrets`
  const bindings = `${RBAC}/namespaces/${shop}/rolebindings`
  const binding = (name: string, role: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: 'delivery', namespace: NAMESPACE }],
  })
  const users = new Map<string, ReturnType<typeof sendAs>>()
  const as = (role: string) => users.get(role) ?? send

  beforeAll(async () => {
    for (const namespace of [shop, other])
      await mustKubectl(plane, ['create', 'namespace', namespace])
    for (const role of ['admin', 'edit']) {
      const user = `${role}-of-${shop}`
      const args = [`--clusterrole=${role}`, `--user=${user}`, '-n', shop]
      await mustKubectl(plane, ['create', 'rolebinding', role, ...args])
      users.set(role, sendAs(await plane.clientKubeconfig({ name: user, user, groups: [] })))
    }
    await eventually(
      'the owner may read bindings',
      async () => (await as('admin')('GET', bindings)).code === 200 || undefined,
      { withinMs: 20_000 },
    )
  })

  const secret = (type = 'Opaque', annotations = {}) => ({
    metadata: { name: uniqueName('deploy'), annotations },
    type,
  })

  test('with role edit may not let the delivery process in', async () => {
    const { code } = await as('edit')(
      'POST',
      bindings,
      binding('claims', 'platform-secret-delivery'),
    )
    expect(code).toBe(403)
    expect((await send('POST', `${secrets}?dryRun=All`, secret())).code).toBe(403)
  })

  test('with role admin may not give it more than they have', async () => {
    for (const role of ['management-operator-delivery', 'cluster-admin']) {
      const { code, body } = await as('admin')('POST', bindings, binding('more', role))
      expect({ role, code }).toEqual({ role, code: 403 })
      expect(body.message).toContain('attempting to grant RBAC permissions not currently held')
    }
  })

  test('with role admin lets it write the Secrets of claims in their namespace, and in no other', async () => {
    const made = await as('admin')('POST', bindings, binding('claims', 'platform-secret-delivery'))
    expect({ code: made.code, message: made.body.message }).toEqual({
      code: 201,
      message: undefined,
    })
    await eventually(
      'the delivery process may list Secrets there',
      async () => (await send('GET', secrets)).code === 200 || undefined,
      { withinMs: 20_000 },
    )
    expect((await send('POST', `${secrets}?dryRun=All`, secret())).code).toBe(201)
    expect((await send('POST', `${CORE}/${other}/secrets?dryRun=All`, secret())).code).toBe(403)
    expect((await send('GET', `${CORE}/${NAMESPACE}/secrets`)).code).toBe(403)
    for (const [method, path] of [
      ['DELETE', `${secrets}/x`],
      ['DELETE', secrets],
      ['GET', `${secrets}?watch=true`],
      ['PUT', `${secrets}/x`],
    ] as const)
      expect({ method, code: (await send(method, path)).code }).toEqual({
        method,
        code: 403,
      })
  })

  test('gives it no token of an account of their namespace with that (5.5)', async () => {
    const token = secret('kubernetes.io/service-account-token', {
      'kubernetes.io/service-account.name': 'default',
    })
    const { code, body } = await send('POST', `${secrets}?dryRun=All`, token)
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining('needs the verb create on its subresource token'),
    })
  })
})
