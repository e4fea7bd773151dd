// Deletion of keys with the operator's finalizer and foreign ones (contract 5.1).
import { describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  type StoredKey,
  condition,
  fieldsOfOperator,
  isAdopted,
  keyClientOf,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

const FOREIGN = 'example.com/backup'
const OTHER = 'example.com/inventory'

/** An adopted key with its finalizers in this order. */
async function keyWith(finalizers: readonly string[]): Promise<StoredKey> {
  const key = await keys.shown(await keys.create(), 'Active')
  return keys.patch(key, [{ op: 'replace', path: '/metadata/finalizers', value: finalizers }])
}

describe.concurrent('a deleted key', () => {
  test('is removed when kubectl delete returns (5.1)', async () => {
    const key = await keys.shown(await keys.create(), 'Active')
    const { code, stderr } = await plane.kubectl(['delete', 'oak', key.metadata.name])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await keys.read(key)).toBeNull()
  })

  // biome-ignore format: a table
  test.each([
    { name: 'after ours', finalizers: [REVOKE_FINALIZER, FOREIGN], left: [FOREIGN] },
    { name: 'before ours', finalizers: [FOREIGN, REVOKE_FINALIZER], left: [FOREIGN] },
    { name: 'on both sides', finalizers: [FOREIGN, REVOKE_FINALIZER, OTHER], left: [FOREIGN, OTHER] },
  ])('stays while it has a foreign finalizer $name, and does not work (4.1, 5.1)', async ({ finalizers, left }) => {
    const key = await keyWith(finalizers)
    await keys.remove(key)
    const terminating = await keys.shown(key, 'Terminating')
    expect(terminating.metadata.finalizers).toEqual(left)
    expect(condition(terminating, 'Ready')).toMatchObject({
      status: 'False',
      message: 'The key is being deleted and no longer works.',
    })
    expect(terminating.spec.key).toBe(key.spec.key)
    await keys.patch(key, { metadata: { finalizers: [] } })
    await keys.gone(key)
  })

  test('with a foreign finalizer is not adopted again (5.1)', async () => {
    const key = await keyWith([REVOKE_FINALIZER, FOREIGN])
    await keys.remove(key)
    await keys.shown(key, 'Terminating')
    await keys.patch(key, { spec: { displayName: 'looked at again' } })
    const looked = await keys.shown(key, 'Terminating')
    expect(looked.metadata.finalizers).toEqual([FOREIGN])
    await keys.patch(key, { metadata: { finalizers: [] } })
    await keys.gone(key)
  })

  test('is removed by hand with the command of the docs (5.1)', async () => {
    const key = await keyWith([FOREIGN])
    await keys.remove(key)
    const { code } = await plane.kubectl([
      'patch',
      'oak',
      key.metadata.name,
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    ])
    expect(code).toBe(0)
    await keys.gone(key)
  })
})

describe.concurrent('the operator restores on an adopted key', () => {
  // biome-ignore format: a table
  const removed = [
    { what: 'the finalizer', patch: { metadata: { finalizers: null } } },
    { what: 'the annotation', patch: { metadata: { annotations: { [CREATED_ANNOTATION]: null } } } },
    { what: 'both', patch: { metadata: { finalizers: null, annotations: null } } },
  ]

  test.each(removed)('$what, and keeps the generated key (3.1)', async ({ patch }) => {
    const key = await keys.shown(await keys.create(), 'Active')
    expect(isAdopted(await keys.patch(key, patch))).toBe(false)
    const adopted = await keys.until(key, 'is adopted again', isAdopted)
    expect(adopted.spec.key).toBe(key.spec.key)
    expect(adopted.metadata.annotations).toEqual(key.metadata.annotations)
    expect(fieldsOfOperator(adopted)).toEqual(fieldsOfOperator(key))
  })

  test.each(removed)(
    '$what, and leaves a given key to its field manager (3.1)',
    async ({ patch }) => {
      const given = { key: uniqueName('k'.repeat(32)) }
      const key = await keys.shown(await keys.create(given), 'Active')
      await keys.patch(key, patch)
      const adopted = await keys.until(key, 'is adopted again', isAdopted)
      expect(adopted.spec.key).toBe(given.key)
      expect(fieldsOfOperator(adopted)).not.toHaveProperty('f:spec')
    },
  )

  test('its finalizer beside a foreign one (3.1, 5.1)', async () => {
    const key = await keyWith([FOREIGN])
    const adopted = await keys.until(key, 'is adopted again', isAdopted)
    expect(adopted.metadata.finalizers).toEqual([FOREIGN, REVOKE_FINALIZER])
    await keys.patch(key, { metadata: { finalizers: [] } })
  })
})
