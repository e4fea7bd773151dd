import { expect, test } from 'vitest'
import { type Stage, stage, thing } from './stored.ts'

const [x, y] = [{ owner: 'x' }, { owner: 'y' }]
test.each<{
  name: string
  act: (stage: Stage) => void
  x: readonly string[]
  y: readonly string[]
}>([
  { name: 'hold what is there', act: () => undefined, x: ['a', 'b'], y: [] },
  {
    name: 'follow an event',
    act: ({ store }) => store.put(thing('a', 9, y)),
    x: ['b'],
    y: ['a'],
  },
  {
    name: 'follow a write of ours',
    act: ({ store }) => store.observe(thing('a', 9, y)),
    x: ['b'],
    y: ['a'],
  },
  {
    name: 'forget a value that nobody has, and know it again',
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
    name: 'follow a listing',
    act: ({ list }) => list(thing('b', 9, y), thing('d', 9, x)),
    x: ['d'],
    y: ['b'],
  },
  {
    name: 'forget what has no value',
    act: ({ store }) => store.put(thing('a', 9)),
    x: ['b'],
    y: [],
  },
  {
    name: 'take in what gets one',
    act: ({ store }) => store.put(thing('c', 9, y)),
    x: ['a', 'b'],
    y: ['c'],
  },
  {
    name: 'follow another of the same name',
    act: ({ store }) => store.put(thing('a', 4, { uid: 'new', ...y })),
    x: ['b'],
    y: ['a'],
  },
])('indexes $name', ({ act, x: ofX, y: ofY }) => {
  const staged = stage([thing('a', 1, x), thing('b', 2, x), thing('c', 3)])
  act(staged)
  expect(staged.owned('x')).toEqual(ofX)
  expect(staged.owned('y')).toEqual(ofY)
  expect(staged.owned('')).toEqual([])
})

test('indexes are up to date when a change is told', () => {
  const { store, owned } = stage([thing('a', 1, x)])
  const seen: unknown[] = []
  store.subscribe(() => seen.push([owned('x'), owned('y'), store.get('a')?.owner]))
  store.put(thing('a', 2, y))
  store.remove(thing('a', 3, y))
  expect(seen).toEqual([
    [[], ['a'], 'y'],
    [[], [], undefined],
  ])
})
