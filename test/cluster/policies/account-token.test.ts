// Secrets that Kubernetes fills with the token of a ServiceAccount, written by the accounts of the product.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_ACCOUNT, OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { WRITES, onPlatformKinds, rbacUser } from './rbac-users.ts'

const plane = await sharedControlPlane()
const NAMESPACE = OPERATOR_ACCOUNT.namespace
const TOKEN = 'kubernetes.io/service-account-token'
const ACCOUNT = 'kubernetes.io/service-account.name'

const WRITES_SECRETS = {
  apiGroups: [''],
  resources: ['secrets'],
  verbs: ['create', 'get', 'patch'],
}
const CONFINED = onPlatformKinds(['confine'], ['tokensecrets'])
const ASKS_FOR_TOKEN = {
  apiGroups: [''],
  resources: ['serviceaccounts/token'],
  resourceNames: ['default'],
  verbs: ['create'],
}

const tokenSecret = (name: string, account: string, type = TOKEN): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, annotations: { [ACCOUNT]: account } },
  type,
})

interface Refusal {
  readonly code: number
  readonly body: { readonly message?: string }
}

/** Creates it in the namespace of the platform, as a dry run: admission decides on it all the same. */
const create = (kubeconfig: string, secret: object): Promise<Refusal> =>
  plane.raw('POST', `/api/v1/namespaces/${NAMESPACE}/secrets?dryRun=All`, secret, { kubeconfig })

const SAYS = (account: string): string =>
  `a Secret with the token of ServiceAccount ${account} needs the verb create on its subresource token`

// The server reads its policies once a second.
beforeAll(async () => {
  const kubeconfig = await plane.serviceAccountKubeconfig(NAMESPACE, OPERATOR_ACCOUNT.name)
  await eventually(
    'the policy is in force',
    async () => {
      const { code } = await create(kubeconfig, tokenSecret(uniqueName('waits'), 'gateway'))
      return code === 403 || undefined
    },
    { withinMs: 20_000 },
  )
})

describe('a Secret with the token of an account (5.5)', () => {
  test.each([{ account: 'gateway' }, { account: 'default' }])(
    'the manager makes none of account $account',
    async ({ account }) => {
      const kubeconfig = await plane.serviceAccountKubeconfig(NAMESPACE, OPERATOR_ACCOUNT.name)
      const { code, body } = await create(kubeconfig, tokenSecret(uniqueName('token'), account))
      expect(code).toBe(403)
      expect(body.message).toContain(SAYS(account))
    },
  )

  test('the gateway makes none under a name that its Role gives it', async () => {
    const kubeconfig = await plane.serviceAccountKubeconfig(NAMESPACE, GATEWAY_ACCOUNT.name)
    const name = 'platform-gateway-ca'
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${name}?dryRun=All&fieldManager=test&force=true`
    const contentType = 'application/apply-patch+yaml'
    const options = { kubeconfig, contentType }
    const applied = (type: string) =>
      plane.raw<{ readonly message?: string }>(
        'PATCH',
        path,
        tokenSecret(name, 'manager', type),
        options,
      )
    const { code, body } = await applied(TOKEN)
    expect(code).toBe(403)
    expect(body.message).toContain(SAYS('manager'))
    expect((await applied('Opaque')).code).toBe(201)
  })

  test('who may ask for that token makes one, and who is not confined', async () => {
    const [asking, free] = await Promise.all([
      rbacUser(plane, uniqueName('asking'), [WRITES, WRITES_SECRETS, CONFINED, ASKS_FOR_TOKEN]),
      rbacUser(plane, uniqueName('free'), [WRITES, WRITES_SECRETS]),
    ])
    expect((await create(asking, tokenSecret(uniqueName('token'), 'default'))).code).toBe(201)
    expect((await create(asking, tokenSecret(uniqueName('token'), 'gateway'))).code).toBe(403)
    expect((await create(free, tokenSecret(uniqueName('token'), 'gateway'))).code).toBe(201)
  })

  test('an account that is confined changes none, because the answer shows the token', async () => {
    const name = uniqueName('stored')
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets`
    expect((await plane.raw('POST', path, tokenSecret(name, 'default'))).code).toBe(201)
    const confined = await rbacUser(plane, uniqueName('confined'), [
      WRITES,
      WRITES_SECRETS,
      CONFINED,
    ])
    const label = { metadata: { labels: { a: 'b' } } }
    const { code, body } = await plane.raw<{ readonly message?: string }>(
      'PATCH',
      `${path}/${name}`,
      label,
      { kubeconfig: confined },
    )
    expect(code).toBe(403)
    expect(body.message).toContain(SAYS('default, default'))
    expect((await plane.raw('DELETE', `${path}/${name}`)).code).toBe(200)
  })

  test('direct endpoints and syncers ship the same policy for their clusters', () => {
    const [own, ...others] = ['policies', 'direct', 'syncer/policy'].map((folder) => {
      const file = join(import.meta.dirname, '../../../config', folder, 'account-token.yaml')
      const [policy, binding] = parseAllDocuments(readFileSync(file, 'utf8')).map(
        (document) => document.toJS() as { readonly spec: { readonly policyName?: string } },
      )
      return { policy: policy?.spec, actions: { ...binding?.spec, policyName: '' } }
    })
    expect(own?.policy).toBeDefined()
    for (const other of others) expect(other).toEqual(own)
  })
})
