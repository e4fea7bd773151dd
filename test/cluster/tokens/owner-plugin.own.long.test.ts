// With the admission plugin OwnerReferencesPermissionEnforcement, off by default, writes of operator and gateway
// succeed too, and blockOwnerDeletion needs the rights of both the plugin and our policy (contract 4.2, 12.3; threat
// E3).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, TOKENS } from '../../../src/api/names.ts'
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { type Grant, WRITES, rbacUser, onPlatformKinds } from '../policies/rbac-users.ts'
import {
  type StoredToken,
  collectorReady,
  controllerOf,
  newToken,
  tokenClientOf,
  under,
} from './token-client.ts'

const plane = await ownControlPlane({
  apiServerFlags: ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'],
})
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const flags = [`--issuer-url=${ISSUER}`]
const operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
afterAll(() => operator.stop())
const kubeconfig = await plane.serviceAccountKubeconfig(
  GATEWAY_ACCOUNT.namespace,
  GATEWAY_ACCOUNT.name,
)
const gateway = await startGateway({ kubeconfig, flags })
afterAll(() => gateway.stop())
const ca = await gatewayCa(plane.admin)

const SOON = { withinMs: 20_000 }

/** An object of our kinds in a response of the gateway. */
interface Made extends KubeObject {
  readonly spec: { readonly key?: string }
  readonly status?: { readonly token?: string }
}

/** A request for our kinds through the gateway. */
async function through(key: string, method: string, path: string, body?: object) {
  const answer = await ask(`${gateway.url()}/kubernetes/management${path}`, {
    ca,
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { code: answer.code, made: parsed(answer.body) }
}

const parsed = (text: string): Made => JSON.parse(text.startsWith('{') ? text : '{}')

const isAccepted = (key: string): Promise<void> =>
  eventuallyPasses(
    'the gateway accepts the key',
    async () => expect((await through(key, 'GET', '/version')).code).toBe(200),
    SOON,
  )

describe('through the gateway (12.3)', () => {
  test('keys and tokens of a key can be created and changed, and are deleted with it', async () => {
    const parent = await keys.shown(await keys.create({ user: 'ada', type: 'User' }), 'Active')
    const secret = parent.spec.key ?? ''
    await isAccepted(secret)
    const child = await through(secret, 'POST', pathOf(ACCESS_KEYS, {}), { spec: {} })
    expect(child.code).toBe(201)
    expect(child.made.metadata.ownerReferences).toEqual([controllerOf(parent)])
    await isAccepted(child.made.spec.key ?? '')
    const token = await through(secret, 'POST', pathOf(TOKENS, {}), { spec: {} })
    expect(token.code).toBe(201)
    expect(token.made.status?.token).toMatch(/^ey/)
    expect(token.made.metadata.ownerReferences).toEqual([controllerOf(parent)])
    for (const [kind, { made }] of [
      [ACCESS_KEYS, child],
      [TOKENS, token],
    ] as const) {
      const labelled = { metadata: { labels: { a: 'b' } } }
      const { code } = await through(secret, 'PATCH', pathOf(kind, made.metadata), labelled)
      expect(code).toBe(200)
    }
    await collectorReady(tokens)
    const path = pathOf(ACCESS_KEYS, { name: parent.metadata.name })
    expect((await through(secret, 'DELETE', path)).code).toBe(200)
    await keys.gone(parent)
    await keys.gone(child.made.metadata.name)
    await tokens.gone(token.made.metadata.name)
  })
})

describe('directly on the API server (4.2, E3)', () => {
  // The plugin discovers kinds at its start and every 30 s.
  beforeAll(async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const by = await rbacUser(plane, uniqueName('first'), [WRITES])
    const isKnown = async (): Promise<void> => {
      const { message } = await create(newToken({}, under(owner, { blockOwnerDeletion: true })), by)
      expect(message).not.toContain('RESTMapping')
    }
    await eventuallyPasses('the plugin knows our kinds', isKnown, { withinMs: 60_000 })
  }, 90_000)

  const MAY_USE = onPlatformKinds(['use'], [ACCESS_KEYS.plural])
  const MAY_DELETE = onPlatformKinds(['delete'], [ACCESS_KEYS.plural])
  const MAY_FINALIZE = onPlatformKinds(['update'], [`${ACCESS_KEYS.plural}/finalizers`])
  const PLUGIN = /cannot set blockOwnerDeletion if an ownerReference refers to a resource/
  const POLICY = /setting blockOwnerDeletion needs the verb delete on /

  interface Row {
    readonly name: string
    readonly grants: readonly Grant[]
    readonly code: number
    readonly says?: RegExp
  }

  test.each<Row>([
    { name: 'neither right', grants: [], code: 403, says: PLUGIN },
    { name: 'delete on the owner', grants: [MAY_DELETE], code: 403, says: PLUGIN },
    { name: 'update on its finalizers', grants: [MAY_FINALIZE], code: 422, says: POLICY },
    { name: 'both rights', grants: [MAY_DELETE, MAY_FINALIZE], code: 201 },
  ])(
    'blockOwnerDeletion by a caller with $name gets $code',
    async ({ grants, code, says = /^$/ }) => {
      const by = await rbacUser(plane, uniqueName('holder'), [WRITES, MAY_USE, ...grants])
      const owner = await keys.shown(await keys.create(), 'Active')
      const held = newToken({}, under(owner, { blockOwnerDeletion: true }))
      const answer = await create(held, by)
      expect(answer).toEqual({ code, message: expect.stringMatching(says) })
    },
  )

  test('an owner without blockOwnerDeletion needs only the verb use on it', async () => {
    const by = await rbacUser(plane, uniqueName('user'), [WRITES, MAY_USE])
    const owner = await keys.shown(await keys.create(), 'Active')
    const name = uniqueName('free')
    const token = newToken({}, { name, ...under(owner) })
    expect(await create(token, by)).toEqual({ code: 201, message: '' })
    await tokens.shown(name, 'Issued')
  })

  test('a caller without the right to delete a token may not change its owners', async () => {
    const by = await rbacUser(plane, uniqueName('changer'), [WRITES, MAY_USE])
    const [one, other] = [await keys.create(), await keys.create()]
    const token = await tokens.issue({}, under(one))
    const change = (ownerReferences: readonly OwnerReference[]) =>
      plane.raw<{ readonly message: string }>(
        'PATCH',
        pathOf(TOKENS, { name: token.metadata.name }),
        { metadata: { ownerReferences } },
        { kubeconfig: by },
      )
    const { code, body } = await change([controllerOf(other)])
    expect(code).toBe(403)
    expect(body.message).toContain("cannot set an ownerRef on a resource you can't delete")
    expect((await tokens.read(token))?.metadata.ownerReferences).toEqual([controllerOf(one)])
  })

  async function create(token: object, by: string) {
    const path = pathOf(TOKENS, {})
    const { code, body } = await plane.raw<StoredToken & { readonly message?: string }>(
      'POST',
      path,
      token,
      { kubeconfig: by },
    )
    return { code, message: body.message ?? '' }
  }
})
