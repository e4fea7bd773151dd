// @module-tag no-retry
// What RBAC and the policies let the ServiceAccount of the sign-in process do, if whoever holds its token is an attacker (25.1, SK).
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type RulesReview, rulesOf } from '../../support/own-rights.ts'

const plane = await sharedControlPlane()
const NAMESPACE = 'platform-system-sign-in'
const kubeconfigs = await Promise.all([
  plane.serviceAccountKubeconfig(NAMESPACE, 'sign-in'),
  plane.serviceAccountKubeconfig('default', 'default'),
])
const askAs =
  (kubeconfig: string) =>
  (path: string, body: object): Promise<{ readonly body: RulesReview }> =>
    plane.raw<RulesReview>('POST', path, body, { kubeconfig })
const own = askAs(kubeconfigs[0])
const unprivileged = askAs(kubeconfigs[1])

interface Refusal {
  readonly message?: string
}

const send = (method: Parameters<typeof plane.raw>[0], path: string, body?: unknown) =>
  plane.raw<Refusal>(method, path, body, { kubeconfig: kubeconfigs[0] })

/** The rights in a namespace, beside those of every account. */
async function grantedIn(namespace: string): Promise<readonly string[]> {
  const ofAll = await rulesOf(unprivileged, namespace)
  return (await rulesOf(own, namespace)).filter((rule) => !ofAll.includes(rule)).toSorted()
}

const KINDS = 'management.platform.sh'
const CLUSTER_WIDE = [
  `create, delete: ownedaccesskeys of ${KINDS}`,
  `create, get, list, patch, watch: users of ${KINDS}`,
  `create, get, list, watch: teams of ${KINDS}`,
  'create: tokenreviews of authentication.k8s.io',
  `patch: users/status of ${KINDS}`,
  `sign-in: ownedaccesskeys of ${KINDS}`,
]

describe('the rights of the sign-in process (25.1)', () => {
  // biome-ignore format: a table
  test.each([
    { where: 'default', more: [] },
    { where: 'platform-system', more: ['get: configmaps platform-gateway-ca'] },
    {
      where: NAMESPACE,
      more: [
        `confine: tokensecrets of ${KINDS}`,
        'create, delete, get, list, patch, update, watch: secrets',
        'create: leases of coordination.k8s.io',
        'create, get, patch, update: configmaps',
        'get, update: leases management-operator-sign-in of coordination.k8s.io',
      ],
    },
  ])('are exactly these in namespace $where', async ({ where, more }) => {
    expect(await grantedIn(where)).toEqual([...CLUSTER_WIDE, ...more].toSorted())
  })

  const API = `/apis/${KINDS}/v1`
  const CORE = '/api/v1/namespaces'
  // biome-ignore format: a table
  test.each([
    ['GET', `${API}/ownedaccesskeys`], ['GET', `${API}/ownedaccesskeys/x`], ['GET', `${API}/ownedaccesskeys?watch=true`],
    ['PATCH', `${API}/ownedaccesskeys/x`], ['PUT', `${API}/ownedaccesskeys/x`], ['PATCH', `${API}/ownedaccesskeys/x/status`],
    ['DELETE', `${API}/ownedaccesskeys`], ['GET', `${API}/directclusterendpointtokens`], ['POST', `${API}/directclusterendpointtokens`],
    ['GET', `${API}/configs/platform-manager-config`], ['POST', `${API}/configs`], ['PATCH', `${API}/configs/platform-manager-config`],
    ['PATCH', `${API}/configs/platform-manager-config/status`], ['DELETE', `${API}/users/x`], ['PATCH', `${API}/teams/x`], ['DELETE', `${API}/teams/x`],
    ['GET', `${CORE}/platform-system/secrets`], ['GET', `${CORE}/platform-system/secrets/platform-signing-key-1`], ['GET', '/api/v1/secrets'],
    ['GET', `${CORE}/platform-system/configmaps`], ['PATCH', `${CORE}/platform-system/configmaps/platform-gateway-ca`],
    ['GET', `${CORE}/platform-system-targets/secrets`], ['POST', `${CORE}/${NAMESPACE}/serviceaccounts/sign-in/token`],
    ['POST', `${CORE}/platform-system/serviceaccounts/gateway/token`], ['POST', `${CORE}/${NAMESPACE}/pods`], ['GET', `${CORE}/${NAMESPACE}/configmaps`],
    ['GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles'], ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
  ] as const)('do not include %s %s', async (method, path) => {
    const { code, body } = await send(method, path, method === 'GET' ? undefined : {})
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining(`User "system:serviceaccount:${NAMESPACE}:sign-in" cannot`),
    })
  })

  const key = (spec: object) => ({
    apiVersion: `${KINDS}/v1`,
    kind: 'OwnedAccessKey',
    metadata: { name: uniqueName('account') },
    spec,
  })
  test.each([
    { name: 'a Login key of a person', spec: { type: 'Login', user: 'ada' }, code: 201 },
    { name: 'a key of a person of another type', spec: { user: 'ada' }, code: 403 },
    { name: 'a key of a team', spec: { team: 'sre' }, code: 403 },
    {
      name: 'a Login key with groups',
      spec: { type: 'Login', user: 'ada', groups: ['g'] },
      code: 403,
    },
    { name: 'a key that resets a password', spec: { type: 'Reset', user: 'ada' }, code: 403 },
  ])(
    'are for no other key than of a person who signs in: $name is answered $code (24.5)',
    async ({ spec, code }) => {
      const answer = await send('POST', `${API}/ownedaccesskeys?dryRun=All`, key(spec))
      expect({ code: answer.code, spec }).toEqual({ code, spec })
    },
  )

  test('give no token of its account by a Secret (5.5)', async () => {
    const annotations = { 'kubernetes.io/service-account.name': 'sign-in' }
    const metadata = { name: uniqueName('token'), annotations }
    const type = 'kubernetes.io/service-account-token'
    const { code, body } = await send('POST', `${CORE}/${NAMESPACE}/secrets?dryRun=All`, {
      metadata,
      type,
    })
    expect({ code, message: body.message }).toEqual({
      code: 403,
      message: expect.stringContaining('needs the verb create on its subresource token'),
    })
  })
})
