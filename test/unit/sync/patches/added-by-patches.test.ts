import { expect, test } from 'vitest'
import { nestedField } from '../../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { NO_WRITES, endpoints, syncedPair, withField } from '../synced-pair.ts'

const P = 'vcluster.platform.sh'
const ADDS = [
  { path: 'metadata.labels', expression: '({ ...value, tier: "web" })' },
  { path: 'metadata.annotations', expression: '({ ...value, note: "added" })' },
]
const FIELDS = ['labels', 'annotations'] as const
const KEYS = { labels: 'tier', annotations: 'note' }
const OBJECT = endpoints({ subsets: [] }, { labels: { app: 'a' }, annotations: { own: 'b' } })

const at = (object: JsonMap | null, ...path: string[]): Json | undefined =>
  nestedField(object ?? {}, ['metadata', ...path])

/** A pair that is in step with these patches, over the objects of another one. */
async function patchedPair(patches: readonly object[], before?: ReturnType<typeof syncedPair>) {
  const pair = syncedPair('endpoints', { patches })
  pair.virtual.put(before?.atVirtual() ?? OBJECT)
  const host = before?.atHost()
  if (host) pair.host.put(host)
  await pair.settle()
  return pair
}

test.each(FIELDS)(
  '%s that a patch has added are marked, and settle (17.2, 19.7)',
  async (field) => {
    const pair = await patchedPair(ADDS)
    expect(pair.writes()).toEqual({ virtual: [], host: ['create create'] })
    expect(at(pair.atHost(), field, KEYS[field])).toBeDefined()
    expect(at(pair.atHost(), 'annotations', `${P}/patched-${field}`)).toBe(KEYS[field])
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
  },
)

test.each(FIELDS)('%s go with the patch that has added them (17.3, 19.3)', async (field) => {
  const pair = await patchedPair([], await patchedPair(ADDS))
  const fresh = await patchedPair([])
  expect(at(pair.atHost(), field)).toEqual(at(fresh.atHost(), field))
})

test('a value that others have set on the host stays, and is not marked as added (17.3)', async () => {
  const plain = await patchedPair([])
  expect(JSON.stringify(plain.atHost())).not.toContain('/patched-')
  plain.host.put(withField(['metadata', 'labels', 'x'], 'y')(plain.atHost()))
  const pair = await patchedPair([], await patchedPair(ADDS, plain))
  expect(at(pair.atHost(), 'labels', 'x')).toBe('y')
})

test('a key that the virtual object gets too stays when the patch goes (17.3)', async () => {
  const before = await patchedPair(ADDS)
  before.virtual.put(withField(['metadata', 'labels', 'tier'], 'db')(before.atVirtual()))
  await before.settle()
  expect(at(before.atHost(), 'labels', 'tier')).toBe('web')
  const pair = await patchedPair([], before)
  expect(at(pair.atHost(), 'labels', 'tier')).toBe('db')
})
