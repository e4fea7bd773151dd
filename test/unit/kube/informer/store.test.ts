import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { fullObject } from '../../../../src/kube/informer/store.ts'
import { thing } from './scripted-server.ts'
import { type ObservedStore, storeWith } from './store-builder.ts'

interface Row {
  readonly name: string
  readonly present?: readonly KubeObject[]
  readonly act: (storeWith: ObservedStore) => void
  readonly objects: readonly string[]
  readonly changes: readonly string[]
}

/** The objects and changes that a row leads to. */
const outcomeOf = ({ present, act }: Row) => {
  const observed = storeWith(present)
  act(observed)
  return { objects: observed.objects(), changes: observed.changes }
}

/** A Thing with a deletionTimestamp and these finalizers. */
function deletedThing(name: string, version: number, ...finalizers: readonly string[]): KubeObject {
  const { metadata, ...rest } = thing(name, version)
  return {
    ...rest,
    metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers },
  }
}

describe('a list', () => {
  test.each<Row>([
    {
      name: 'adds its objects',
      act: ({ list }) => list(thing('a', 1), thing('b', 2)),
      objects: ['a@1', 'b@2'],
      changes: ['a >1 listed', 'b >2 listed'],
    },
    {
      name: 'updates changed objects, is silent about unchanged ones, and removes missing ones',
      present: [thing('a', 1), thing('b', 2), thing('c', 3)],
      act: ({ list }) => list(thing('a', 1), thing('c', 5), thing('d', 4)),
      objects: ['a@1', 'c@5', 'd@4'],
      changes: ['c 3>5 listed', 'd >4 listed', 'b 2> listed'],
    },
    {
      name: 'without objects removes everything',
      present: [thing('a', 1)],
      act: ({ list }) => list(),
      objects: [],
      changes: ['a 1> listed'],
    },
    {
      name: 'wins with lower resourceVersions, as after a restore from backup',
      present: [thing('a', 9)],
      act: ({ list }) => list(thing('a', 4)),
      objects: ['a@4'],
      changes: ['a 9>4 listed'],
    },
    {
      name: 'that broke leaves only the objects that the next list confirms',
      present: [thing('old', 1)],
      act: ({ store, list }) => {
        store.begin()
        store.put(thing('a', 2))
        store.put(thing('b', 3))
        list(thing('b', 3))
      },
      objects: ['b@3'],
      changes: ['a >2 listed', 'b >3 listed', 'old 1> listed', 'a 2> listed'],
    },
    {
      name: 'may contain a deletion',
      present: [thing('a', 1), thing('b', 2)],
      act: ({ store }) => {
        store.begin()
        store.put(thing('a', 1))
        store.put(thing('b', 2))
        store.remove(thing('a', 3))
        store.end()
      },
      objects: ['b@2'],
      changes: ['a 1>'],
    },
    {
      name: 'that began before our write was answered does not undo the write',
      present: [thing('a', 1)],
      act: ({ store }) => {
        store.begin()
        store.observe(thing('a', 8))
        store.put(thing('a', 1))
        store.end()
      },
      objects: ['a@8'],
      changes: ['a 1>8'],
    },
    {
      name: 'that had the object before our write was answered keeps the write',
      present: [thing('a', 1)],
      act: ({ store }) => {
        store.begin()
        store.put(thing('a', 1))
        store.observe(thing('a', 8))
        store.end()
      },
      objects: ['a@8'],
      changes: ['a 1>8'],
    },
    {
      name: 'that began after our write was answered wins over the write',
      present: [thing('a', 1)],
      act: ({ store, list }) => {
        store.observe(thing('a', 8))
        list(thing('a', 4))
      },
      objects: ['a@4'],
      changes: ['a 1>8', 'a 8>4 listed'],
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toEqual({ objects: row.objects, changes: row.changes })
  })
})

describe('events and writes after the first list', () => {
  const present = [thing('a', 5)]
  test.each<Row>([
    {
      name: 'a newer resourceVersion replaces the object',
      present,
      act: ({ store }) => store.put(thing('a', 6)),
      objects: ['a@6'],
      changes: ['a 5>6'],
    },
    {
      name: 'the event of our own write changes nothing',
      present,
      act: ({ store }) => {
        store.observe(thing('a', 7))
        store.put(thing('a', 6))
        store.put(thing('a', 7))
      },
      objects: ['a@7'],
      changes: ['a 5>7'],
    },
    {
      name: 'resourceVersions are compared as numbers of any length',
      present: [thing('a', 9)],
      act: ({ store }) => {
        store.put(thing('a', 10))
        store.put({
          ...thing('a', 0),
          metadata: { ...thing('a', 0).metadata, resourceVersion: '9007199254740993' },
        })
        store.put(thing('a', 9_007_199_254_740_992))
      },
      objects: ['a@9007199254740993'],
      changes: ['a 9>10', 'a 10>9007199254740993'],
    },
    {
      name: 'the same name with a new uid is another object',
      present,
      act: ({ store }) => store.put(thing('a', 6, { uid: 'new' })),
      objects: ['a@6'],
      changes: ['a 5>6'],
    },
    {
      name: 'a late event of the previous object of that name changes nothing (C4)',
      present,
      act: ({ store }) => {
        store.put(thing('a', 2, { uid: 'old' }))
        store.remove(thing('a', 3, { uid: 'old' }))
      },
      objects: ['a@5'],
      changes: [],
    },
    {
      name: 'a late event does not bring back a deleted object (C4)',
      present,
      act: ({ store }) => {
        store.remove(thing('a', 7))
        store.put(thing('a', 6))
        store.put(thing('a', 4))
        store.put(thing('a', 8, { uid: 'new' }))
      },
      objects: ['a@8'],
      changes: ['a 5>', 'a >8'],
    },
    {
      name: 'a relist may lower resourceVersions: the server was restored',
      present: [thing('a', 50), thing('b', 51)],
      act: ({ store, list }) => {
        store.remove(thing('a', 52))
        list(thing('b', 20))
        store.put(thing('a', 21))
      },
      objects: ['b@20', 'a@21'],
      changes: ['a 50>', 'b 51>20 listed', 'a >21'],
    },
    {
      name: 'the deletion of the previous object does not remove the new one of that name',
      present,
      act: ({ store }) => {
        store.put(thing('a', 6, { uid: 'new' }))
        store.remove(thing('a', 7))
      },
      objects: ['a@6'],
      changes: ['a 5>6'],
    },
    {
      name: 'a deletion removes the object',
      present,
      act: ({ store }) => store.remove(thing('a', 6)),
      objects: [],
      changes: ['a 5>'],
    },
    {
      name: 'a deletion of an unknown object changes nothing',
      present,
      act: ({ store }) => store.remove(thing('b', 6)),
      objects: ['a@5'],
      changes: [],
    },
    {
      name: 'a late answer to our write does not bring back a deleted object',
      present,
      act: ({ store }) => {
        store.remove(thing('a', 6))
        store.observe(thing('a', 7))
      },
      objects: [],
      changes: ['a 5>'],
    },
    {
      name: 'an answer to a write of the previous object does not replace the new one',
      present,
      act: ({ store }) => {
        store.put(thing('a', 6, { uid: 'new' }))
        store.observe(thing('a', 7))
      },
      objects: ['a@6'],
      changes: ['a 5>6'],
    },
    {
      name: 'the answer to the patch of the last finalizer has the resourceVersion of the object before it (4.4)',
      present: [deletedThing('a', 5, 'x')],
      act: ({ store }) => {
        store.observe(deletedThing('a', 5))
        store.put(deletedThing('a', 5, 'x'))
        store.remove(thing('a', 6))
      },
      objects: [],
      changes: ['a 5>5', 'a 5>'],
    },
    {
      name: 'such an answer of an older resourceVersion changes nothing',
      present: [deletedThing('a', 5, 'x')],
      act: ({ store }) => store.observe(deletedThing('a', 4)),
      objects: ['a@5'],
      changes: [],
    },
    {
      name: 'an answer older than the stored object changes nothing',
      present,
      act: ({ store }) => store.observe(thing('a', 4)),
      objects: ['a@5'],
      changes: [],
    },
    {
      name: 'an event after a list is not marked as listed',
      act: ({ store, list }) => {
        list()
        store.put(thing('a', 1))
      },
      objects: ['a@1'],
      changes: ['a >1'],
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toEqual({ objects: row.objects, changes: row.changes })
  })
})

test('the store is synced from the end of its first list on', () => {
  const { store, changes } = storeWith()
  store.whenSynced(() => changes.push('synced'))
  store.begin()
  store.put(thing('a', 1))
  store.begin()
  expect(store.synced).toBe(false)
  store.put(thing('a', 1))
  store.end()
  expect(store.synced).toBe(true)
  store.begin()
  expect(store.synced).toBe(true)
  store.end()
  store.whenSynced(() => changes.push('at once'))
  expect(changes).toEqual(['a >1 listed', 'synced', 'a 1> listed', 'at once'])
})

test('every subscriber receives a change, even if one of them throws (8.1)', () => {
  const { store } = storeWith()
  const received: string[] = []
  store.subscribe(({ name }) => {
    throw new Error(`not ${name}`)
  })
  store.subscribe(({ name }) => void received.push(name))
  store.begin()
  expect(() => store.put(thing('a', 1))).toThrow('not a')
  expect(received).toEqual(['a'])
})

test('the store keeps only the projection, or the full object with fullObject', () => {
  const { store } = storeWith([thing('a', 1, { owner: 'x' })])
  expect(store.size).toBe(1)
  expect(store.get('a')).toEqual({ name: 'a', uid: 'a-uid', resourceVersion: '1', owner: 'x' })
  expect(store.get('b')).toBeUndefined()
  const object = thing('a', 1, { owner: 'x' })
  expect(fullObject(object)).toEqual({ name: 'a', uid: 'a-uid', resourceVersion: '1', object })
})
