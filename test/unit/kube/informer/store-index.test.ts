import { expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { thing } from './scripted-server.ts'
import { type ObservedStore, storeWith } from './store-builder.ts'

const [x, y] = [{ owner: 'x' }, { owner: 'y' }]
test.each<{
  name: string
  act: (storeWith: ObservedStore) => void
  x: readonly string[]
  y: readonly string[]
}>([
  { name: 'list the objects of each value', act: () => undefined, x: ['a', 'b'], y: [] },
  {
    name: 'follow an event',
    act: ({ store }) => store.put(thing('a', 9, y)),
    x: ['b'],
    y: ['a'],
  },
  {
    name: 'follow our own write',
    act: ({ store }) => store.observe(thing('a', 9, y)),
    x: ['b'],
    y: ['a'],
  },
  {
    name: 'take a value in again after its last object was removed',
    act: ({ store }) => {
      store.remove(thing('a', 9))
      store.remove(thing('b', 9))
      store.put(thing('c', 10, x))
      store.put(thing('d', 11, x))
    },
    x: ['c', 'd'],
    y: [],
  },
  { name: 'follow a deletion', act: ({ store }) => store.remove(thing('a', 9)), x: ['b'], y: [] },
  {
    name: 'follow a relist',
    act: ({ list }) => list(thing('b', 9, y), thing('d', 9, x)),
    x: ['d'],
    y: ['b'],
  },
  {
    name: 'drop an object that loses its value',
    act: ({ store }) => store.put(thing('a', 9)),
    x: ['b'],
    y: [],
  },
  {
    name: 'add an object that gets a value',
    act: ({ store }) => store.put(thing('c', 9, y)),
    x: ['a', 'b'],
    y: ['c'],
  },
  {
    name: 'follow a new object of the same name',
    act: ({ store }) => store.put(thing('a', 4, { uid: 'new', ...y })),
    x: ['b'],
    y: ['a'],
  },
])('an index of a store can $name', ({ act, x: ofX, y: ofY }) => {
  const observed = storeWith([thing('a', 1, x), thing('b', 2, x), thing('c', 3)])
  act(observed)
  expect(observed.namesOwnedBy('x')).toEqual(ofX)
  expect(observed.namesOwnedBy('y')).toEqual(ofY)
  expect(observed.namesOwnedBy('')).toEqual([])
})

test('an index has an object under each of its values (24.2)', () => {
  const store = new Store(
    (object: KubeObject) => ({ ...object.metadata, in: object.spec as readonly string[] | null }),
    {
      groups: (item) => item.in,
    },
  )
  const put = (name: string, version: number, groups: readonly string[] | null): void =>
    store.put({ ...thing(name, version), spec: groups })
  const found = (group: string) => store.by('groups', group).map(({ name }) => name)
  put('a', 1, ['x', 'y'])
  put('b', 2, ['y'])
  put('c', 3, null)
  expect([found('x'), found('y'), found('z')]).toEqual([['a'], ['a', 'b'], []])
  put('a', 4, ['y', 'z'])
  put('b', 5, [])
  put('c', 6, ['z'])
  expect([found('x'), found('y'), found('z')]).toEqual([[], ['a'], ['a', 'c']])
  store.remove(thing('a', 7))
  expect([found('x'), found('y'), found('z')]).toEqual([[], [], ['c']])
})

test('indexes are up to date when subscribers hear of a change', () => {
  const { store, namesOwnedBy } = storeWith([thing('a', 1, x)])
  const seen: unknown[] = []
  store.subscribe(() => seen.push([namesOwnedBy('x'), namesOwnedBy('y'), store.get('a')?.owner]))
  store.put(thing('a', 2, y))
  store.remove(thing('a', 3, y))
  expect(seen).toEqual([
    [[], ['a'], 'y'],
    [[], [], undefined],
  ])
})
