// The examples of docs/scopes.md, by requests through a gateway. Each has a key with that scope of a cluster admin, so
// that only the scope can refuse it.
import { beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { cookbook, cookbookScopes } from '../../support/documentation-blocks.ts'
import { eventually } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'
import { bindRole } from '../policies/rbac-users.ts'

const plane = await privateControlPlane()
const MANAGEMENT = '/kubernetes/management/'
const USER = 'cook'
const EXAMPLES = cookbook().map((example) => ({ ...example, text: JSON.stringify(example.scope) }))
const [ofManagement, connected] = [true, false].map((isOf) =>
  EXAMPLES.filter(({ path }) => path.startsWith(MANAGEMENT) === isOf),
)

let gateway: OwnGateway
let ca: string
const secrets = new Map<string, string>()

beforeAll(async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  const flags = [`--issuer-url=${ISSUER}`]
  const operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  gateway = await startGateway({ kubeconfig, flags })
  ca = await gatewayCa(plane.admin)
  await bindRole(plane, USER, 'cluster-admin')
  const adding = cookbookScopes().map(async (scope) =>
    secrets.set(JSON.stringify(scope), await keyOf(scope)),
  )
  await Promise.all(adding)
  return async () => {
    await gateway.stop()
    await operator.stop()
  }
})

/** The secret of a new key, once the gateway accepts it. */
async function keyOf(scope: Scope): Promise<string> {
  const path = `${pathOf(ACCESS_KEYS, {})}?fieldValidation=Strict`
  const made = await plane.raw<OwnedAccessKey>('POST', path, newKey({ user: USER, scope }))
  expect({ code: made.code, scope: made.body.spec?.scope }).toEqual({ code: 201, scope })
  return eventually(
    'the gateway accepts the key',
    async () => {
      const { metadata } = made.body
      const { spec } = (await plane.admin.get<OwnedAccessKey>(ACCESS_KEYS, metadata)) ?? {}
      const known = spec?.key !== undefined && (await send(spec.key, 'GET', '/kubernetes/x'))
      return known && known.code === 404 ? spec?.key : undefined
    },
    { withinMs: 20_000 },
  )
}

const send = (key: string, method: string, path: string) =>
  ask(`${gateway.url()}${path}`, { ca, method, headers: { authorization: `Bearer ${key}` } })

describe('in the management cluster (11.1, 11.6)', () => {
  test.each(ofManagement ?? [])(
    '$text: $method $path: $answer',
    async ({ text, method, path, answer }) => {
      const bounded = path.includes('watch=true') ? `${path}&timeoutSeconds=1` : path
      const { code, body } = await send(secrets.get(text) ?? '', method, bounded)
      const isRefused = code === 403 && body.includes(REFUSAL)
      // Whatever stopped the request before its API server answered says nothing about the scope.
      const isUndecided = [401, 403, 429].includes(code) || code >= 500
      expect(isRefused ? '403' : isUndecided ? `${code} ${body}` : 'passes').toBe(answer)
    },
  )
})

const REFUSAL = '"message":"the scope does not grant '

// Without the target, a scope that grants anything else there is answered 404 too.
test.each(connected ?? [])(
  'a target that no Secret defines: $text: $method $path: $answer (9.5, 11.1)',
  async ({ text, method, path, answer }) => {
    const { code } = await send(secrets.get(text) ?? '', method, path)
    expect(answer === 'passes' ? [404] : [403, 404]).toContain(code)
  },
)
