// What the accounts that impersonate reach as the users of Kubernetes' own components, and that the page says so
// (contract 10.5).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { type GatewayAccountClient, KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'

const ROOT = join(import.meta.dirname, '../../..')
const plane = await sharedControlPlane()
const PAGE = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')

/** The accounts that the shipped manifests let impersonate, and the manifests of those that the plane lacks. */
const ACCOUNTS = [
  { of: "the platform's gateway", account: GATEWAY_ACCOUNT, manifests: [] },
  {
    of: 'the gateway in a target',
    account: { namespace: 'platform-gateway', name: 'gateway' },
    manifests: ['config/target/account.yaml', 'config/target/impersonation.yaml'],
  },
  {
    of: 'a direct endpoint',
    account: { namespace: 'platform-system', name: 'direct' },
    manifests: ['config/direct/service-account.yaml', 'config/direct/impersonation.yaml'],
  },
]

interface Bindings {
  readonly items: readonly {
    readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
  }[]
}

/** The users that a stock API server binds roles to. */
async function componentUsers(): Promise<readonly string[]> {
  const selector = 'labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults'
  const lists = await Promise.all(
    ['clusterrolebindings', 'rolebindings'].map((plural) =>
      plane.raw<Bindings>('GET', `/apis/rbac.authorization.k8s.io/v1/${plural}?${selector}`),
    ),
  )
  const subjects = lists.flatMap(({ body }) => body.items.flatMap((one) => one.subjects ?? []))
  const users = subjects.filter(({ kind }) => kind === 'User').map(({ name }) => name)
  return [...new Set([...users, 'system:apiserver'])].toSorted()
}

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

async function may(
  client: GatewayAccountClient,
  user: string,
  resourceAttributes: object,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace: 'platform-system', ...resourceAttributes } },
  }
  const { body } = await client<{ readonly status?: { readonly allowed?: boolean } }>(
    'POST',
    REVIEWS,
    { user, group: ['system:authenticated'], ...KEY_EXTRA },
    review,
  )
  return body.status?.allowed === true
}

test.each(ACCOUNTS)(
  "the page says what $of reaches as each user of Kubernetes' components (10.5)",
  async ({ account, manifests }) => {
    for (const path of manifests)
      await mustKubectl(plane, ['apply', '--server-side', '-f', join(ROOT, path)])
    const client = await gatewayAccountClient(plane, account)
    const rows = await Promise.all(
      (await componentUsers()).map(async (user) => {
        const reads = await may(client, user, { verb: 'get', resource: 'secrets' })
        const token = { verb: 'create', resource: 'serviceaccounts', subresource: 'token' }
        const mints = await may(client, user, token)
        return `| \`${user}\` | ${reads ? 'yes' : 'no'} | ${mints ? 'yes' : 'no'} |`
      }),
    )
    expect(rows.length).toBeGreaterThan(3)
    const [, table = ''] = PAGE.split('| acts as |')
    expect(table.split('\n\n')[0]?.split('\n').slice(2)).toEqual(rows)
  },
)
