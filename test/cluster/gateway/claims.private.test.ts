// Claims through a gateway: RBAC decides, a scope narrows, and the subject of a claim is a caller (contract 11.7, 12.1, 28.2).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEY_CLAIMS, API_VERSION, CLAIM_LABEL } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { SOON, startTestGateway, type UsableKey } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane } = setup
const PROJECT = 'shop'
const NAMESPACE = `p-${PROJECT}`
const RBAC = 'rbac.authorization.k8s.io'
const CLAIMS = pathOf(ACCESS_KEY_CLAIMS, { namespace: NAMESPACE })
const SCOPE = { projects: [{ project: PROJECT }] }
const NAMED = {
  resources: [{ group: 'management.platform.sh', resources: ['accesskeyclaims'] }],
  verbs: ['get', 'create'],
  namespaces: [NAMESPACE],
}

await made('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
await bind('edit', 'ada')
await bind('view', 'claim:p-shop:deploy')
const person = await setup.key({ type: 'Login' })
const narrow = await setup.key({ scope: SCOPE })
const naming = await setup.key({ scope: { ...SCOPE, rules: [NAMED] } })
await eventually(
  'RBAC lets the callers in',
  async () => (await asked(person, 'GET')).code === 200 || undefined,
  SOON,
)

describe('a caller with the role edit in a namespace', () => {
  test('makes, reads, changes and deletes claims there by kubectl (12.1, 28.2)', async () => {
    const name = uniqueName('own')
    const input = JSON.stringify(claim(name, { key: { ttl: 600 } }))
    const run = (...args: readonly string[]) =>
      setup.kubectl(person, [...args, '--namespace', NAMESPACE], { input })
    expect(await run('apply', '--server-side', '-f', '-')).toMatchObject({ code: 0 })
    expect(await run('apply', '-f', '-')).toMatchObject({ code: 0 })
    expect((await run('get', 'akc', name)).stdout).toContain('NEXT ROTATION')
    expect(await run('annotate', 'akc', name, 'note=changed')).toMatchObject({ code: 0 })
    expect(await run('delete', 'akc', name)).toMatchObject({ code: 0 })
  })

  test.each(['', '?fieldValidation=Ignore'])(
    'gets 400 for a mistyped field%s, as for every kind of the platform (12.1)',
    async (query) => {
      const mistyped = claim('mistyped', { key: { scop: SCOPE } })
      const { code, body } = await asked(person, 'POST', `${CLAIMS}${query}`, mistyped)
      expect({ code, says: body }).toEqual({
        code: 400,
        says: expect.stringContaining('unknown field \\"spec.key.scop\\"'),
      })
    },
  )

  test('makes none elsewhere, and none that names its own user (28.2)', async () => {
    const elsewhere = pathOf(ACCESS_KEY_CLAIMS, { namespace: 'default' })
    const other = { ...claim('other', {}), metadata: { name: 'other' } }
    expect((await asked(person, 'POST', elsewhere, other)).code).toBe(403)
    const { code, body } = await posted(person, { key: { user: 'ada' } })
    expect(code).toBe(403)
    expect(body).toContain('needs the verb impersonate on users/ada, which ada does not have')
  })
})

describe('a key with a scope (11.7)', () => {
  test('of the project reads and deletes its claims, and writes none', async () => {
    const name = uniqueName('scoped')
    await made(CLAIMS, claim(name, {}))
    const path = pathOf(ACCESS_KEY_CLAIMS, { namespace: NAMESPACE, name })
    expect((await asked(narrow, 'GET', path)).code).toBe(200)
    const { code, body } = await posted(narrow, {})
    expect(code).toBe(403)
    expect(body).toContain('which only a rule that names it grants')
    expect((await asked(narrow, 'PATCH', path, { spec: { suspend: true } })).code).toBe(403)
    expect((await asked(narrow, 'DELETE', path)).code).toBe(200)
  })

  test('with a rule that names claims makes them', async () => {
    expect((await posted(naming, {})).code).toBe(201)
  })

  test.each([
    { verb: 'get', key: narrow, answer: 'yes' },
    { verb: 'create', key: narrow, answer: 'no' },
    { verb: 'create', key: naming, answer: 'yes' },
  ])('learns by kubectl auth can-i $verb: $answer (11.3)', async ({ verb, key, answer }) => {
    const review = ['auth', 'can-i', verb, 'accesskeyclaims.management.platform.sh']
    const { stdout } = await setup.kubectl(key, [...review, '--namespace', NAMESPACE])
    expect(stdout.trim().split('\n').at(-1)).toMatch(new RegExp(`^${answer}`))
  })
})

describe('a key of the subject of a claim', () => {
  test('may do what a RoleBinding grants that name, and makes no keys (12.3, 28.2)', async () => {
    const labels = { [CLAIM_LABEL]: 'uid-deploy' }
    const ofClaim = await setup.key(
      { user: '', subject: 'claim:p-shop:deploy' },
      { name: uniqueName('claim'), labels },
    )
    expect((await asked(ofClaim, 'GET', `/api/v1/namespaces/${NAMESPACE}/configmaps`)).code).toBe(
      200,
    )
    expect((await asked(ofClaim, 'GET', '/api/v1/namespaces/default/configmaps')).code).toBe(403)
    const keys = '/apis/management.platform.sh/v1/ownedaccesskeys'
    const one = { metadata: { generateName: 'made-' }, spec: {} }
    expect((await asked(ofClaim, 'POST', keys, one)).code).toBe(403)
  })

  test('is no key that a person can make by self-service (12.1, 28.3)', async () => {
    const keys = '/apis/management.platform.sh/v1/ownedaccesskeys'
    const metadata = { generateName: 'made-', labels: { [CLAIM_LABEL]: 'uid-deploy' } }
    const { code, body } = await asked(person, 'POST', keys, { metadata, spec: {} })
    expect(code).toBe(403)
    expect(body).toContain(`metadata.labels[${CLAIM_LABEL}]`)
  })
})

const posted = (key: UsableKey, spec: object) =>
  asked(key, 'POST', CLAIMS, claim(uniqueName('claim'), spec))

function claim(name: string, spec: object) {
  const metadata = { name, namespace: NAMESPACE }
  return { apiVersion: API_VERSION, kind: ACCESS_KEY_CLAIMS.kind, metadata, spec }
}

function asked({ token }: UsableKey, method: string, path = CLAIMS, object?: object) {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const sent = object && { body: JSON.stringify(object), headers: { 'content-type': type } }
  return setup.ask(token, path, { method, ...sent })
}

/** Creates an object as an administrator. */
async function made(path: string, object: object): Promise<void> {
  expect((await plane.raw('POST', path, object)).code).toBe(201)
}

/** Binds a ClusterRole to a user in the namespace of the project. */
async function bind(role: string, user: string): Promise<void> {
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: role }
  const subjects = [{ apiGroup: RBAC, kind: 'User', name: user }]
  const metadata = { name: uniqueName('bound') }
  await made(`/apis/${RBAC}/v1/namespaces/${NAMESPACE}/rolebindings`, {
    metadata,
    roleRef,
    subjects,
  })
}
