// The policies don't block deletion: by hand without an operator, and by the garbage collector (contract 5.1, 5.5). No
// operator runs.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  REVOKE_FINALIZER,
  type Resource,
  TOKENS,
} from '../../../src/api/names.ts'
import type { KubeObject, OwnerReference } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { plantCanary } from '../../support/canary.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { LAST_APPLIED, policiesBind } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { collectorReady, tokenClientOf } from '../tokens/token-client.ts'
import { ownedBy } from './owner-cases.ts'
import { WRITES, bindRole, rbacUser, onPlatformKinds } from './rbac-users.ts'

/** The garbage collector discovers new kinds every half a minute. */
const SOON = { withinMs: 60_000 }
const REMOVE_FINALIZERS = '[{"op":"remove","path":"/metadata/finalizers"}]'
const POLICIES = join(import.meta.dirname, '../../../config/policies')

const plane = await privateControlPlane()
const { admin, raw } = plane

const callers = {
  clusterAdmin: await bindRole(plane, 'clusterAdmin', 'cluster-admin'),
  keyAdmin: await bindRole(plane, 'keyAdmin', 'platform-key-admin'),
  remover: await rbacUser(plane, 'remover', [
    WRITES,
    onPlatformKinds(['delete'], ['ownedaccesskeys', 'directclusterendpointtokens']),
  ]),
}

// Concurrently, as kubectl waits a second for each deletion.
describe.concurrent.each([ACCESS_KEYS, TOKENS])(
  'a $kind deleted without a running operator (5.1)',
  (resource) => {
    test.each(['clusterAdmin', 'keyAdmin'] as const)(
      'is removed once %s removes its finalizer',
      async (by) => {
        const { name, deleted } = await deletedBy(by)
        expect(deleted).toMatchObject({ code: 1, stderr: expect.stringContaining('timed out') })
        expect(await removeFinalizer(name, by)).toMatchObject({ code: 0, stderr: '' })
        expect(await admin.get(resource, { name })).toBeNull()
      },
    )

    test('stays when the caller may delete it but not update its finalizers (5.5)', async () => {
      const { name } = await deletedBy('remover')
      const { code, stderr } = await removeFinalizer(name, 'remover')
      expect(code).toBe(1)
      expect(stderr).toContain(`needs the verb update on ${resource.plural}/finalizers`)
      const stays = await admin.get(resource, { name })
      expect(stays?.metadata.deletionTimestamp).toBeDefined()
      expect(stays?.metadata.finalizers).toEqual([REVOKE_FINALIZER])
    })

    async function deletedBy(by: keyof typeof callers) {
      const { name } = (await make(resource, { finalizers: [REVOKE_FINALIZER] })).metadata
      const args = ['delete', resource.plural, name, '--timeout=1s']
      return { name, deleted: await plane.kubectl(args, { kubeconfig: callers[by] }) }
    }

    /** The command of the docs. */
    const removeFinalizer = (name: string, by: keyof typeof callers) =>
      plane.kubectl(['patch', resource.plural, name, '--type=json', '-p', REMOVE_FINALIZERS], {
        kubeconfig: callers[by],
      })
  },
)

test('a key stored before the policies can be changed and deleted (5.5)', async () => {
  const must = async (...args: readonly string[]) =>
    expect(await plane.kubectl(args)).toMatchObject({ code: 0 })
  await must('delete', '-k', POLICIES)
  const { secret } = plantCanary('stored before')
  const owner = await make(ACCESS_KEYS)
  const old = await eventually(
    'a key that breaks each policy is stored',
    () =>
      make(
        ACCESS_KEYS,
        {
          annotations: { [LAST_APPLIED]: secret },
          ownerReferences: [ownedBy(owner, { controller: true, blockOwnerDeletion: true })],
          finalizers: [REVOKE_FINALIZER],
        },
        { key: secret, user: 'bob', groups: ['dev'] },
      ),
    SOON,
  )
  await must('apply', '--server-side', '-k', POLICIES)
  await policiesBind(plane)
  const by = { kubeconfig: callers.remover }
  const path = pathOf(ACCESS_KEYS, old.metadata)
  const changed = { metadata: { labels: { seen: 'yes' } }, spec: { disabled: true } }
  expect((await raw('PATCH', path, changed, by)).code).toBe(200)
  expect((await raw('DELETE', path, undefined, by)).code).toBe(200)
  const freed = { metadata: { finalizers: null } }
  expect((await raw('PATCH', path, freed, by)).code).toBe(403)
  expect((await raw('PATCH', path, freed, { kubeconfig: callers.keyAdmin })).code).toBe(200)
  expect((await raw('GET', path)).code).toBe(404)
})

// It watches keys and tokens separately: a key that is deleted before it knows the token is deleted alone.
describe('the garbage collector (5.4, 5.5)', () => {
  test('deletes the tokens and keys of a deleted key', async () => {
    const owner = await make(ACCESS_KEYS)
    const token = await makeOwned(TOKENS, owner)
    const key = await makeOwned(ACCESS_KEYS, owner)
    await remove(owner, 'Background')
    expect(await isGone(TOKENS, token)).toBe(true)
    expect(await isGone(ACCESS_KEYS, key)).toBe(true)
  })

  test('deletes the tokens before the key in foreground deletion', async () => {
    const owner = await make(ACCESS_KEYS)
    const token = await makeOwned(TOKENS, owner, { blockOwnerDeletion: true }, [REVOKE_FINALIZER])
    await collectorReady(tokenClientOf(plane))
    await remove(owner, 'Foreground')
    const terminating = await eventually(
      'the token is being deleted',
      async () => {
        const now = await admin.get(TOKENS, token.metadata)
        return now?.metadata.deletionTimestamp === undefined ? undefined : now
      },
      SOON,
    )
    expect((await admin.get(ACCESS_KEYS, owner.metadata))?.metadata.finalizers).toEqual([
      'foregroundDeletion',
    ])
    await raw('PATCH', pathOf(TOKENS, terminating.metadata), { metadata: { finalizers: null } })
    expect(await isGone(TOKENS, token)).toBe(true)
    expect(await isGone(ACCESS_KEYS, owner)).toBe(true)
  })

  test('keeps orphaned tokens and removes their ownerReference', async () => {
    const owner = await make(ACCESS_KEYS)
    const token = await makeOwned(TOKENS, owner, { blockOwnerDeletion: true })
    await collectorReady(tokenClientOf(plane))
    await remove(owner, 'Orphan')
    expect(await isGone(ACCESS_KEYS, owner)).toBe(true)
    const orphan = await admin.get(TOKENS, token.metadata)
    expect(orphan?.metadata.uid).toBe(token.metadata.uid)
    expect(orphan?.metadata.ownerReferences).toBeUndefined()
  })

  test('removes the ownerReference to a deleted key and keeps the other one', async () => {
    const [owner, other] = [await make(ACCESS_KEYS), await make(ACCESS_KEYS)]
    const kept = ownedBy(other, { controller: true, blockOwnerDeletion: true })
    const token = await make(TOKENS, { ownerReferences: [ownedBy(owner), kept] })
    await remove(owner, 'Background')
    await eventually(
      'the reference is gone',
      async () => {
        const now = await admin.get(TOKENS, token.metadata)
        expect(now?.metadata.ownerReferences).toEqual([kept])
        return true
      },
      SOON,
    )
  })

  async function remove({ metadata }: KubeObject, propagationPolicy: string): Promise<void> {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy }
    const { code } = await raw('DELETE', pathOf(ACCESS_KEYS, metadata), options)
    expect(code).toBe(200)
  }

  function makeOwned(
    resource: Resource,
    owner: KubeObject,
    more: Partial<OwnerReference> = {},
    finalizers: readonly string[] = [],
  ): Promise<KubeObject> {
    const reference = ownedBy(owner, { controller: true, ...more })
    return make(resource, { ownerReferences: [reference], finalizers })
  }

  /** Resolves when the object is gone. */
  function isGone(resource: Resource, { metadata }: KubeObject): Promise<true> {
    return eventually(
      `${resource.kind} ${metadata.name} is gone`,
      async () => (await admin.get(resource, metadata)) === null || undefined,
      SOON,
    )
  }
})

function make(resource: Resource, metadata: object = {}, spec: object = {}): Promise<KubeObject> {
  const named = { ...metadata, name: uniqueName('held') }
  const object = { apiVersion: API_VERSION, kind: resource.kind, metadata: named, spec }
  return admin.create(resource, object, 'test')
}
