// What the gateway's account reaches as the users of Kubernetes' own components, and that the page says so (contract 10.5).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'

const plane = await sharedControlPlane()
const gateway = await gatewayAccountClient(plane)
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/security.md'), 'utf8')

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

async function may(user: string, resourceAttributes: object): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace: 'platform-system', ...resourceAttributes } },
  }
  const { body } = await gateway<{ readonly status?: { readonly allowed?: boolean } }>(
    'POST',
    REVIEWS,
    { user, group: ['system:authenticated'], ...KEY_EXTRA },
    review,
  )
  return body.status?.allowed === true
}

test("the page says what the gateway's account reaches as each user of Kubernetes' components (10.5)", async () => {
  const rows = await Promise.all(
    (await componentUsers()).map(async (user) => {
      const reads = await may(user, { verb: 'get', resource: 'secrets' })
      const token = { verb: 'create', resource: 'serviceaccounts', subresource: 'token' }
      const mints = await may(user, token)
      return `| \`${user}\` | ${reads ? 'yes' : 'no'} | ${mints ? 'yes' : 'no'} |`
    }),
  )
  expect(rows.length).toBeGreaterThan(3)
  const [, table = ''] = PAGE.split('| acts as |')
  expect(table.split('\n\n')[0]?.split('\n').slice(2)).toEqual(rows)
})
