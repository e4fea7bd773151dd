import { expect, test } from 'vitest'
import { AwaitedNames } from '../../../../src/sync/pair/awaited-names.ts'
import { WritesWithoutChange } from '../../../../src/sync/pair/unchanged-writes.ts'
import { syncedObject } from '../../../../src/sync/objects/synced-object.ts'

const before = (uid = 'u', resourceVersion = '1') =>
  syncedObject('Service')({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid, resourceVersion, creationTimestamp: '' },
  })

test.each([
  { name: 'the same write', object: before(), wanted: { a: 1, b: 2 }, knows: true },
  {
    name: 'the same write in another order',
    object: before(),
    wanted: { b: 2, a: 1 },
    knows: true,
  },
  { name: 'another write', object: before(), wanted: { a: 1 }, knows: false },
  {
    name: 'a write of a changed object',
    object: before('u', '2'),
    wanted: { a: 1, b: 2 },
    knows: false,
  },
  { name: 'a write of another object', object: before('v'), wanted: { a: 1, b: 2 }, knows: false },
  { name: 'a create', object: null, wanted: { a: 1, b: 2 }, knows: false },
])('a write without a change: $name (19.7)', ({ object, wanted, knows }) => {
  const writes = new WritesWithoutChange()
  writes.add('shop/web', { a: 1, b: 2 }, before())
  expect(writes.has('shop/web', wanted, object)).toBe(knows)
  expect(writes.has('shop/other', wanted, object)).toBe(false)
  writes.forget('shop/web')
  expect(writes.has('shop/web', wanted, object)).toBe(false)
})

test('a name on the host is awaited by several, each for one name, until they stop (16.3, 17.1)', () => {
  const names = new AwaitedNames()
  names.set('a/b', 'host/x')
  names.set('a/b', 'host/x')
  names.set('c/d', 'host/x')
  expect(names.waitingFor('host/x')).toEqual(['a/b', 'c/d'])
  // Asking does not end it: the object may still be foreign.
  expect(names.waitingFor('host/x')).toEqual(['a/b', 'c/d'])
  names.set('a/b', 'host/y')
  expect([names.waitingFor('host/x'), names.waitingFor('host/y')]).toEqual([['c/d'], ['a/b']])
  names.set('a/b', null)
  names.set('c/d', null)
  names.set('never/there', null)
  expect([names.waitingFor('host/x'), names.waitingFor('host/y')]).toEqual([[], []])
})
