import { expect, test } from 'vitest'
import { syncedObject } from '../../../../src/sync/objects/synced-object.ts'
import { isUnchangedWrite, PairStates, writeDigest } from '../../../../src/sync/pair/state.ts'

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
  const states = new PairStates()
  states.of('shop/web').host.unchangedWrite = writeDigest({ a: 1, b: 2 }, before())
  const isKnown = (key: string): boolean =>
    object !== null && isUnchangedWrite(states.of(key).host, wanted, object)
  expect(isKnown('shop/web')).toBe(knows)
  expect(isKnown('shop/other')).toBe(false)
  states.forget('shop/web')
  expect(isKnown('shop/web')).toBe(false)
})

test('a name on the host is awaited by several, each for one name, until they stop (16.3, 17.1)', () => {
  const names = new PairStates()
  names.awaitHostName('a/b', 'host/x')
  names.awaitHostName('a/b', 'host/x')
  names.awaitHostName('c/d', 'host/x')
  expect(names.waitingFor('host/x')).toEqual(['a/b', 'c/d'])
  // Asking does not end it: the object may still be foreign.
  expect(names.waitingFor('host/x')).toEqual(['a/b', 'c/d'])
  names.awaitHostName('a/b', 'host/y')
  expect([names.waitingFor('host/x'), names.waitingFor('host/y')]).toEqual([['c/d'], ['a/b']])
  names.awaitHostName('a/b', null)
  names.awaitHostName('c/d', null)
  names.awaitHostName('never/there', null)
  expect([names.waitingFor('host/x'), names.waitingFor('host/y')]).toEqual([[], []])
})

test('a forgotten pair leaves nothing behind, and no other pair loses anything (16.3, 18.3, 20)', () => {
  const states = new PairStates()
  const untouched = structuredClone(states.of('shop/new'))
  const change = (key: string): void => {
    Object.assign(states.of(key), {
      state: 'synced',
      changedAtMs: 1,
      delayedAtMs: 2,
      verdict: 'v',
      written: { uid: 'u', metadata: { virtual: {}, host: {} } },
      evaluations: {},
      virtual: { lastWrite: { source: 's', wanted: 'w' }, unchangedWrite: 'd' },
      host: { lastWrite: { source: 's', wanted: 'w' }, unchangedWrite: 'd' },
    })
    states.awaitHostName(key, 'host/x')
  }
  for (const key of ['shop/web', 'shop/api']) change(key)
  const changed = states.of('shop/web')
  // Each field has another value than in a new record: a field that is added must be here.
  for (const [field, value] of Object.entries(untouched))
    expect([field, changed[field as keyof typeof changed]]).not.toEqual([field, value])
  states.forget('shop/web')
  expect(states.waitingFor('host/x')).toEqual(['shop/api'])
  expect(states.countByState()).toEqual({ synced: 1 })
  expect(states.of('shop/web')).toEqual(untouched)
  expect(states.of('shop/api').verdict).toBe('v')
})
