import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { fullObject } from '../../../../src/kube/informer/store.ts'
import { type Stage, stage, thing } from './stored.ts'

interface Row {
  readonly name: string
  readonly present?: readonly KubeObject[]
  readonly act: (stage: Stage) => void
  readonly world: readonly string[]
  readonly told: readonly string[]
}

/** What a row leads to. */
const outcomeOf = ({ present, act }: Row) => {
  const staged = stage(present)
  act(staged)
  return { world: staged.world(), told: staged.told }
}

/** A thing that is being deleted, and what still holds it. */
function leaving(name: string, version: number, ...finalizers: readonly string[]): KubeObject {
  const { metadata, ...rest } = thing(name, version)
  return {
    ...rest,
    metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers },
  }
}

describe('a listing', () => {
  test.each<Row>([
    {
      name: 'brings what it holds',
      act: ({ list }) => list(thing('a', 1), thing('b', 2)),
      world: ['a@1', 'b@2'],
      told: ['a >1 listed', 'b >2 listed'],
    },
    {
      name: 'changes what changed, says nothing of what did not, removes what is gone',
      present: [thing('a', 1), thing('b', 2), thing('c', 3)],
      act: ({ list }) => list(thing('a', 1), thing('c', 5), thing('d', 4)),
      world: ['a@1', 'c@5', 'd@4'],
      told: ['c 3>5 listed', 'd >4 listed', 'b 2> listed'],
    },
    {
      name: 'of nothing removes everything',
      present: [thing('a', 1)],
      act: ({ list }) => list(),
      world: [],
      told: ['a 1> listed'],
    },
    {
      name: 'wins with lower versions: a restore from backup',
      present: [thing('a', 9)],
      act: ({ list }) => list(thing('a', 4)),
      world: ['a@4'],
      told: ['a 9>4 listed'],
    },
    {
      name: 'that broke counts for nothing but what the next confirms',
      present: [thing('old', 1)],
      act: ({ store, list }) => {
        store.begin()
        store.put(thing('a', 2))
        store.put(thing('b', 3))
        list(thing('b', 3))
      },
      world: ['b@3'],
      told: ['a >2 listed', 'b >3 listed', 'old 1> listed', 'a 2> listed'],
    },
    {
      name: 'may hold a deletion while it lasts',
      present: [thing('a', 1), thing('b', 2)],
      act: ({ store }) => {
        store.begin()
        store.put(thing('a', 1))
        store.put(thing('b', 2))
        store.remove(thing('a', 3))
        store.end()
      },
      world: ['b@2'],
      told: ['a 1>'],
    },
    {
      name: 'that began before a write of ours was answered does not undo it',
      present: [thing('a', 1)],
      act: ({ store }) => {
        store.begin()
        store.observe(thing('a', 8))
        store.put(thing('a', 1))
        store.end()
      },
      world: ['a@8'],
      told: ['a 1>8'],
    },
    {
      name: 'that held the object before our write was answered keeps the write too',
      present: [thing('a', 1)],
      act: ({ store }) => {
        store.begin()
        store.put(thing('a', 1))
        store.observe(thing('a', 8))
        store.end()
      },
      world: ['a@8'],
      told: ['a 1>8'],
    },
    {
      name: 'that began after a write of ours wins over it',
      present: [thing('a', 1)],
      act: ({ store, list }) => {
        store.observe(thing('a', 8))
        list(thing('a', 4))
      },
      world: ['a@4'],
      told: ['a 1>8', 'a 8>4 listed'],
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toEqual({ world: row.world, told: row.told })
  })
})

describe('while live', () => {
  const present = [thing('a', 5)]
  test.each<Row>([
    {
      name: 'a newer version replaces',
      present,
      act: ({ store }) => store.put(thing('a', 6)),
      world: ['a@6'],
      told: ['a 5>6'],
    },
    {
      name: 'the echo of our own write changes nothing',
      present,
      act: ({ store }) => {
        store.observe(thing('a', 7))
        store.put(thing('a', 6))
        store.put(thing('a', 7))
      },
      world: ['a@7'],
      told: ['a 5>7'],
    },
    {
      name: 'versions are compared as numbers of any length',
      present: [thing('a', 9)],
      act: ({ store }) => {
        store.put(thing('a', 10))
        store.put({
          ...thing('a', 0),
          metadata: { ...thing('a', 0).metadata, resourceVersion: '9007199254740993' },
        })
        store.put(thing('a', 9_007_199_254_740_992))
      },
      world: ['a@9007199254740993'],
      told: ['a 9>10', 'a 10>9007199254740993'],
    },
    {
      name: 'the same name with a new uid is another object',
      present,
      act: ({ store }) => store.put(thing('a', 6, { uid: 'new' })),
      world: ['a@6'],
      told: ['a 5>6'],
    },
    {
      name: 'an old tale of its predecessor changes nothing (C4)',
      present,
      act: ({ store }) => {
        store.put(thing('a', 2, { uid: 'old' }))
        store.remove(thing('a', 3, { uid: 'old' }))
      },
      world: ['a@5'],
      told: [],
    },
    {
      name: 'an old tale raises nobody from the dead (C4)',
      present,
      act: ({ store }) => {
        store.remove(thing('a', 7))
        store.put(thing('a', 6))
        store.put(thing('a', 4))
        store.put(thing('a', 8, { uid: 'new' }))
      },
      world: ['a@8'],
      told: ['a 5>', 'a >8'],
    },
    {
      name: 'after a listing versions may be lower than before: the server was restored',
      present: [thing('a', 50), thing('b', 51)],
      act: ({ store, list }) => {
        store.remove(thing('a', 52))
        list(thing('b', 20))
        store.put(thing('a', 21))
      },
      world: ['b@20', 'a@21'],
      told: ['a 50>', 'b 51>20 listed', 'a >21'],
    },
    {
      name: 'the end of the elder does not remove the younger',
      present,
      act: ({ store }) => {
        store.put(thing('a', 6, { uid: 'new' }))
        store.remove(thing('a', 7))
      },
      world: ['a@6'],
      told: ['a 5>6'],
    },
    {
      name: 'a deletion removes',
      present,
      act: ({ store }) => store.remove(thing('a', 6)),
      world: [],
      told: ['a 5>'],
    },
    {
      name: 'the deletion of what is not there means nothing',
      present,
      act: ({ store }) => store.remove(thing('b', 6)),
      world: ['a@5'],
      told: [],
    },
    {
      name: 'a write answered late never brings back what is gone',
      present,
      act: ({ store }) => {
        store.remove(thing('a', 6))
        store.observe(thing('a', 7))
      },
      world: [],
      told: ['a 5>'],
    },
    {
      name: 'a write to the elder never replaces the younger',
      present,
      act: ({ store }) => {
        store.put(thing('a', 6, { uid: 'new' }))
        store.observe(thing('a', 7))
      },
      world: ['a@6'],
      told: ['a 5>6'],
    },
    {
      name: 'the answer to the patch that freed a deleted object shows it as it was last, in the version before (4.4)',
      present: [leaving('a', 5, 'x')],
      act: ({ store }) => {
        store.observe(leaving('a', 5))
        store.put(leaving('a', 5, 'x'))
        store.remove(thing('a', 6))
      },
      world: [],
      told: ['a 5>5', 'a 5>'],
    },
    {
      name: 'an earlier answer of that kind changes nothing',
      present: [leaving('a', 5, 'x')],
      act: ({ store }) => store.observe(leaving('a', 4)),
      world: ['a@5'],
      told: [],
    },
    {
      name: 'an answer older than the view changes nothing',
      present,
      act: ({ store }) => store.observe(thing('a', 4)),
      world: ['a@5'],
      told: [],
    },
    {
      name: 'an event behind a listing is told as an event',
      act: ({ store, list }) => {
        list()
        store.put(thing('a', 1))
      },
      world: ['a@1'],
      told: ['a >1'],
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toEqual({ world: row.world, told: row.told })
  })
})

test('it is synced from the end of its first listing on', () => {
  const { store, told } = stage()
  store.whenSynced(() => told.push('synced'))
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
  store.whenSynced(() => told.push('at once'))
  expect(told).toEqual(['a >1 listed', 'synced', 'a 1> listed', 'at once'])
})

test('every listener hears of a change, also where one of them throws (8.1)', () => {
  const { store } = stage()
  const heard: string[] = []
  store.subscribe(({ name }) => {
    throw new Error(`not ${name}`)
  })
  store.subscribe(({ name }) => void heard.push(name))
  store.begin()
  expect(() => store.put(thing('a', 1))).toThrow('not a')
  expect(heard).toEqual(['a'])
})

test('it keeps the projection only, or the object whole', () => {
  const { store } = stage([thing('a', 1, { owner: 'x' })])
  expect(store.size).toBe(1)
  expect(store.get('a')).toEqual({ name: 'a', uid: 'a-uid', resourceVersion: '1', owner: 'x' })
  expect(store.get('b')).toBeUndefined()
  const object = thing('a', 1, { owner: 'x' })
  expect(fullObject(object)).toEqual({ name: 'a', uid: 'a-uid', resourceVersion: '1', object })
})
