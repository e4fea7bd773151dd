// References to names that no object can have: each is an error of its own object, and concerns no other.
import { describe, expect, test } from 'vitest'
import { objectKey } from '../../../../src/kube/informer/store.ts'
import { ReferenceIndex } from '../../../../src/sync/references/index-by-name.ts'
import { virtualNameOf } from '../../../../src/sync/objects/host-name.ts'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'
import type { Patch } from '../../../../src/sync/patches/parse.ts'
import {
  WITHOUT_CLUSTERS,
  hostReference,
  referencesOf,
  virtualReference,
} from '../../../../src/sync/patches/reference.ts'
import { SINGLE } from '../translation.ts'

const NO_NAME = 'no object of the kind can have the name or the namespace that it names'

function patchOf(reference: object): Extract<Patch, { readonly kind: 'reference' }> {
  const patches = [{ path: 'metadata.annotations.ref', reference }]
  const { config } = checkSyncConfig({ sync: { toHost: { endpoints: { patches } } } })
  const [patch] = config?.kinds.endpoints.patches ?? []
  if (patch?.kind !== 'reference') throw new Error('it is not a reference')
  return patch
}

const context = { ...WITHOUT_CLUSTERS, place: SINGLE, namespace: 'shop' }
const secret = patchOf({ kind: 'Secret' })

describe('a name that no object can have', () => {
  test.each(['shared/zzz', '/', 'a/', '/a', 'Shared', 'a b', 'a\nb', '..', 'a'.repeat(254), 'ä'])(
    '%j is an error of the object, and names nothing (19.5, 19.8)',
    (name) => {
      const translated = hostReference(name, secret.reference, context)
      expect(translated).toMatchObject({ ok: false, failure: { because: NO_NAME } })
      const object = { metadata: { namespace: 'shop', annotations: { ref: name } } }
      const { references, failed } = referencesOf(object, [secret])
      expect(references).toEqual([])
      expect(failed?.failure.detail).toContain('kind "Secret", namespace "shop"')
      // On the way back it is what a user on the host wrote: it does not flow.
      const back = virtualReference(name, 'shared', secret.reference, context)
      expect(back).toEqual({ ok: true, value: 'shared' })
    },
  )

  test.each(['other/shop', 'Other', 'a.b', ''.padEnd(64, 'a')])(
    'namespace %j is an error of the object (19.5)',
    (namespace) => {
      const reference = { kind: 'Secret', namePath: 'name', namespacePath: 'namespace' }
      const value = { name: 'shared', namespace }
      expect(hostReference(value, patchOf(reference).reference, context)).toMatchObject({
        ok: false,
        failure: { because: NO_NAME },
      })
    },
  )

  test.each([
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', name: 'system:Reader', can: true },
    { apiVersion: 'example.com/v1', kind: 'Widget', name: 'Big', can: true },
    { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a/b', can: false },
    { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a%2fb', can: false },
    { apiVersion: 'v1', kind: 'Pod', name: 'a.b-c', can: true },
    { apiVersion: 'v1', kind: 'Pod', name: 'system:Reader', can: false },
  ])('$kind $name: $can (19.5)', ({ can, name, ...reference }) => {
    expect(hostReference(name, patchOf(reference).reference, context).ok).toBe(can)
  })
})

test('a key is the namespace up to its first slash, and the whole name (19.5)', () => {
  for (const name of [
    { namespace: 'shop', name: 'shared' },
    { namespace: 'shop', name: 'shared/zzz' },
    { namespace: '', name: 'a' },
  ])
    expect(virtualNameOf(objectKey(name))).toEqual(name)
})

test('kinds and keys are compared in their parts (19.5)', () => {
  const index = new ReferenceIndex()
  const target = { apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'shared' }
  index.set({ kind: 'Endpoints', key: 'shop/web' }, [target])
  index.remove({ kind: 'Endpoints/shop', key: 'web' })
  expect(index.isReferenced('Secret', 'shop/shared')).toBe(true)
  expect(index.isReferenced('Secret/shop', 'shared')).toBe(false)
})
